/**
 * Options of one task at a load with random arrivals: the waiting time at a quantile counts, and
 * more instances shorten it.
 */
import { erlangCOf, erlangQuantile } from "../../../numeric/erlang.ts";
import type { Frontier } from "../../../numeric/frontier.ts";
import {
  carries,
  isExcept,
  leastInstances,
  type TaskOptionsOf,
  throughputQps,
} from "./task-options.ts";

/**
 * Instances beyond the fewest that carry the load. With one in eight more there is hardly any
 * waiting.
 */
const MOST_MORE = 64;

/**
 * A query waits for its batch to fill, the sum of b − 1 times between arrivals, and then for an
 * instance: with the probability of Erlang's C, an exponential time whose mean is that of Allen and
 * Cunneen's approximation, for batches as even as b arrivals make them (Ca² = 1/b) and service that
 * never varies (Cs² = 0). Both are taken at the quantile, and added. Source: the design page;
 * Allen, "Probability, Statistics and Queueing Theory", 1990, §5.3.
 *
 * If a fan-out makes queries arrive in groups, a batch fills by groups, arrivals are less even by
 * this factor, and the last of a group waits for those before it: as many rounds of all instances
 * as they take.
 *
 * @param quantile in [0, 1).
 * @param dispersion squared coefficient of variation of the time between arrivals, 1 for Poisson.
 */
export function stochasticOptions(
  quantile: number,
  dispersion: number,
  mostBatch: number,
): TaskOptionsOf {
  // Queries arrive a second apart here. Processes other than Poisson's have the Erlang distribution
  // with the nearest number of phases and the same mean.
  const formation = Float64Array.from({ length: mostBatch + 1 }, (_, batch) => {
    if (batch < 2) return 0;
    const phases = Math.max(1, Math.round((batch - 1) / dispersion));
    return ((batch - 1) / phases) * erlangQuantile(phases, quantile);
  });
  const excess = 1 - quantile;
  return (stage, stageQps, limits, out) => {
    const { maxBatch, latencyMs, coreCost = 1 } = stage;
    const { leastCores, mostCores, instances } = limits;
    const { group = 1 } = stage;
    const betweenMs = (1000 / stageQps) * group;
    for (let cores = leastCores; cores <= mostCores; cores++) {
      const row = (cores - 1) * maxBatch - 1;
      for (let batch = 1; batch <= maxBatch; batch++) {
        const processingMs = latencyMs[row + batch] as number;
        const groups = Math.ceil(batch / group);
        const leastMs = processingMs + (formation[groups] as number) * betweenMs;
        const capacityQps = throughputQps(batch, processingMs);
        const fewest = instances ?? leastInstances(capacityQps, stageQps);
        const each = cores * coreCost;
        if (isBeaten(out, fewest * each, leastMs)) continue;
        if (instances !== null && !carries(instances, capacityQps, stageQps)) continue;
        const load = stageQps / capacityQps;
        const most = instances ?? fewest + MOST_MORE;
        let blocked = 1;
        for (let count = 1; count <= most; count++) {
          blocked = (load * blocked) / (count + load * blocked);
          if (count < fewest || load >= count) continue;
          const chance = erlangCOf(count, load, blocked);
          const isRare = chance <= excess;
          // Mean wait of those that wait: l (Ca² + Cs²) / (2 (n − load)).
          const meanMs = (processingMs * dispersion * group) / (2 * batch * (count - load));
          const waitMs = isRare ? 0 : meanMs * Math.log(chance / excess);
          const roundsBefore = Math.ceil(group / (batch * count)) - 1;
          if (!isExcept(limits, cores, count)) {
            const ms = leastMs + waitMs + roundsBefore * processingMs;
            out.offer(count * each, ms, batch, cores);
          }
          if ((isRare && roundsBefore === 0) || isBeaten(out, (count + 1) * each, leastMs)) break;
        }
      }
    }
  };
}

/**
 * Returns whether a point cannot be kept: it is above the limit, or one with as few cores is as
 * fast.
 */
function isBeaten(out: Frontier, cores: number, ms: number): boolean {
  const totalMs = ms + out.addedMs;
  if (!(totalMs <= out.limitMs)) return true;
  let at = out.count - 1;
  while (at >= out.start && (out.cores[at] as number) > cores) at--;
  return at >= out.start && (out.latencyMs[at] as number) <= totalMs;
}
