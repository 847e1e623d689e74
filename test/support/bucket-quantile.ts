/** Reads quantiles from the buckets of a histogram as Prometheus' `histogram_quantile` does. */
import type { Sample } from "../../runtime/base/exposition.ts";

/** @param samples of one histogram, or of several that have the same labels but for `le`. */
export function quantileOf(samples: readonly Sample[], share: number): number {
  const byBound = new Map<number, number>();
  for (const { labels, value } of samples) {
    const { le } = labels;
    if (le === undefined) continue;
    const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
    byBound.set(bound, (byBound.get(bound) ?? 0) + value);
  }
  const buckets = [...byBound].sort(([one], [other]) => one - other);
  const rank = share * (buckets.at(-1)?.[1] ?? 0);
  const index = buckets.findIndex(([, count]) => count >= rank);
  const [bound = Number.NaN, count = 0] = buckets[index] ?? [];
  const [low = 0, below = 0] = buckets[index - 1] ?? [];
  if (bound === Number.POSITIVE_INFINITY) return low;
  return low + ((bound - low) * (rank - below)) / (count - below);
}
