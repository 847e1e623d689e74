/**
 * Chooses the batch sizes of each variant: the requested ones, or the only one its model accepts.
 */
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";

interface Batched {
  readonly name: string;
  readonly model: Pick<ModelFile, "inputs">;
}

/** Returns the only number of rows that a model accepts; null if it accepts any. */
function fixedBatchOf({ inputs }: Pick<ModelFile, "inputs">): number | null {
  return inputs.map(({ shape }) => shape[0] ?? -1).find((rows) => rows !== -1) ?? null;
}

/** @param asked ascending. @returns `asked` if the model's batch axis is open. */
export function profiledBatches(
  model: Pick<ModelFile, "inputs">,
  asked: readonly number[],
): readonly number[] {
  const fixed = fixedBatchOf(model);
  return fixed === null ? asked : [fixed];
}

/**
 * Formats a line for each fixed batch: `batches 2, 4 are left out of x, y: their batch is fixed at
 * 1`.
 * @param asked ascending.
 */
export function leftOutLines(variants: readonly Batched[], asked: readonly number[]): string[] {
  const byFixed = new Map<number, string[]>();
  for (const { name, model } of variants) {
    const fixed = fixedBatchOf(model);
    if (fixed === null || asked.every((batch) => batch === fixed)) continue;
    byFixed.set(fixed, [...(byFixed.get(fixed) ?? []), name]);
  }
  return [...byFixed].map(([fixed, names]) => {
    const others = asked.filter((batch) => batch !== fixed);
    const left = others.length === 1 ? `batch ${others[0]} is` : `batches ${others.join(", ")} are`;
    const whose = names.length === 1 ? "the model's" : "their";
    return `${left} left out of ${names.join(", ")}: ${whose} batch is fixed at ${fixed}`;
  });
}
