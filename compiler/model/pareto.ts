/** Finds the variants that are worth choosing. Source: RAMSIS §4.3.3. */

interface VariantCurve {
  /** In [0, 1]. */
  readonly accuracy: number;
  /** Service time by batch size, ms; the same length for every variant. */
  readonly serviceMs: Float64Array;
}

/**
 * Marks every variant that another one dominates: at least as accurate, and at least as fast at
 * every batch size. Of equal variants the first stays. The paper compares latencies at batch size 1
 * only, which can discard a variant that batches better.
 */
export function dominatedVariants(variants: readonly VariantCurve[]): boolean[] {
  return variants.map((variant, index) =>
    variants.some((other, otherIndex) => {
      if (otherIndex === index || !isNoWorse(other, variant)) return false;
      return otherIndex < index || !isNoWorse(variant, other);
    }),
  );
}

function isNoWorse(variant: VariantCurve, than: VariantCurve): boolean {
  return (
    variant.accuracy >= than.accuracy &&
    variant.serviceMs.every((ms, index) => ms <= (than.serviceMs[index] ?? Number.NaN))
  );
}
