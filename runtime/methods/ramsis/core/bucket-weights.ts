/** How much work the queries of each bucket bring, so that levels are chosen by work. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";

/**
 * Gives what a query of each bucket is worth, as many queries of the mix that the levels are for:
 * by the least time of a worker that it takes in a batch which ends within the SLO. So more
 * requests of a large bucket than its share call for a higher level, and fewer for a lower one.
 * @returns shape (bucketCount,), 1 in the mean over the shares; null where there are no buckets.
 */
export function bucketWeights(bundle: RamsisBundle): Float64Array | null {
  const { buckets, slo, cluster, decisionSpace } = bundle;
  if (buckets === undefined) return null;
  const sloMs = decisionSloMs(cluster, slo.latencyMs);
  const actions = decisionSpace.actions.data;
  const costs = buckets.map(({ serviceTimes: { decisionMs } }) => {
    const maxBatch = decisionMs.shape[1] ?? 0;
    let least = Number.POSITIVE_INFINITY;
    let leastOfOne = Number.POSITIVE_INFINITY;
    for (let action = 0; action < actions.length; action += 2) {
      const batch = actions[action + 1]!;
      const ms = decisionMs.data[actions[action]! * maxBatch + batch - 1]!;
      if (ms <= sloMs) least = Math.min(least, ms / batch);
      if (batch === 1) leastOfOne = Math.min(leastOfOne, ms);
    }
    return least < Number.POSITIVE_INFINITY ? least : leastOfOne;
  });
  const mean = buckets.reduce((sum, { share }, bucket) => sum + share * costs[bucket]!, 0);
  const weights = Float64Array.from(costs, (cost) => cost / mean);
  return weights.every((weight) => weight > 0 && weight < Number.POSITIVE_INFINITY)
    ? weights
    : weights.fill(1);
}
