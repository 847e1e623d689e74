/** Classifies queries by the number of places they need to meet their deadline. */
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";

/**
 * Queries that need at least `from` and at most `to` places to meet their deadline if they start at
 * once; null: those too slow on any number of places.
 */
export type SizeClass = { readonly from: number; readonly to: number } | null;

/** Bounds are powers of two: 1, 2, 3 to 4, 5 to 8 … places; the last class is too slow on any. */
export class SizeClasses {
  readonly classes: readonly SizeClass[];
  /** Indexed by model, for each class the largest batch that meets its deadline. */
  readonly #largest: readonly (readonly number[])[];

  constructor(bundle: Pick<AccordionBundle, "shapes" | "tasks" | "policy" | "slo">) {
    const bounds = boundsTo(bundle.policy.maxDepth);
    const ranges = bounds.map((to, index) => ({ from: (bounds[index - 1] ?? 0) + 1, to }));
    const variants = bundle.tasks.flatMap((task) => task.variants);
    this.classes = [...ranges, null];
    this.#largest = variants.map((variant) => largestBatches(bundle, variant, bounds));
  }

  /** Index of the class of a query. */
  of(model: number, batch: number): number {
    const largest = this.#largest[model] ?? [];
    for (const [index, most] of largest.entries()) if (batch <= most) return index;
    return largest.length;
  }
}

function boundsTo(maxDepth: number): number[] {
  const bounds = [1];
  for (let bound = 1; bound < maxDepth; bounds.push(bound)) bound = Math.min(2 * bound, maxDepth);
  return bounds;
}

/**
 * For each bound the largest batch that some shape of at most this many places finishes in time.
 */
function largestBatches(
  { shapes, slo, policy }: Pick<AccordionBundle, "shapes" | "policy" | "slo">,
  { latencyMs }: MalleableVariant,
  bounds: readonly number[],
): number[] {
  const [shapeCount = 0, poolCount = 0] = shapes.shape;
  const largest = bounds.map(() => 0);
  for (let shape = 0; shape < shapeCount; shape++) {
    const counts = shapes.data.subarray(shape * poolCount, (shape + 1) * poolCount);
    const row = latencyMs.data.subarray(shape * policy.maxBatch, (shape + 1) * policy.maxBatch);
    const places = [...counts].reduce((sum, count) => sum + count, 0);
    const most = countUpTo(row, slo.latencyMs);
    for (const [index, bound] of bounds.entries()) {
      if (places <= bound) largest[index] = Math.max(largest[index] ?? 0, most);
    }
  }
  return largest;
}

/** Number of ascending values that are at most a limit. */
function countUpTo(ascending: ArrayLike<number>, limit: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? Number.NaN) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function sizeText(size: SizeClass): string {
  if (size === null) return "too slow on any";
  return size.from === size.to ? String(size.from) : `${size.from}–${size.to}`;
}
