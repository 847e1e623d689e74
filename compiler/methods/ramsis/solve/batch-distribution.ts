/** Accuracy and lateness that 50 % and 99 % of the batches reach at least, or at most. */
import type { BatchDistribution } from "stratagem-runtime/internal/bundle/schema";

/**
 * @param timely batches in time, by accuracy.
 * @param late share of the batches.
 */
export function distributionOf(
  timely: readonly { readonly accuracy: number; readonly weight: number }[],
  total: number,
  late: number,
): BatchDistribution {
  const descending = [...timely].sort((a, b) => b.accuracy - a.accuracy);
  const reachedBy = (share: number): number => {
    let reached = 0;
    for (const { weight, accuracy } of descending) {
      reached += weight;
      if (reached >= share * total) return accuracy;
    }
    return 0;
  };
  return {
    accuracy: { median: reachedBy(0.5), p99: reachedBy(0.99) },
    violationRate: { median: late > 0.5 ? 1 : 0, p99: late > 0.01 ? 1 : 0 },
  };
}
