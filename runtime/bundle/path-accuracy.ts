/** Looks up the accuracy of a path of variants. */
import type { Leaf, LokiBundle } from "./schema.ts";

/**
 * End-to-end accuracy of a path to a leaf.
 * @param cell number of the path, row-major over the variants from the entry on.
 */
export function pathAccuracy(
  tasks: LokiBundle["tasks"],
  { task, accuracyByPath }: Leaf,
  cell: number,
): number {
  if (accuracyByPath !== null) return accuracyByPath.data[cell] ?? Number.NaN;
  let product = 1;
  let rest = cell;
  for (let at: number | null = task; at !== null; at = tasks[at]?.parent ?? null) {
    const variants = tasks[at]?.variants ?? [];
    product *= variants[rest % variants.length]?.accuracy ?? Number.NaN;
    rest = Math.floor(rest / variants.length);
  }
  return product;
}
