/** Algorithm 1: a configuration that meets the SLO, at any cost. */

import {
  aloneMs,
  type Configuration,
  type TaskConfiguration,
} from "../../../../graph/served-tasks.ts";
import { hardwareOf, throughputQps } from "../problem.ts";
import { isBelowBounds, type SearchSpace, unlimited } from "../search-space.ts";
import { serviceTimeMs } from "../service-time.ts";

/**
 * Starts with the smallest batches on the fastest hardware, and adds a replica at the bottleneck
 * until the SLO is met. Pools are unlimited here.
 * @returns null if the longest path takes as long as the SLO without any waiting, or if no number
 * of replicas helps.
 * Source: InferLine §4.3, Algorithm 1.
 */
export function initialize(space: SearchSpace): Configuration | null {
  const { problem, evaluator, sloMs } = space;
  const configuration = problem.stages.map(({ hardware }): TaskConfiguration => {
    const fastestMs = Math.min(...hardware.map(aloneMs));
    // Hardware ascends by price, so of equals this is the cheapest.
    const fastest = hardware.findIndex((one) => aloneMs(one) === fastestMs);
    return { hardware: fastest, batch: hardware[fastest]?.batches[0] ?? 1, replicas: 1 };
  });
  const alone = configuration.map((one, stage) => aloneMs(hardwareOf(problem, stage, one)));
  if (serviceTimeMs(problem, alone) >= sloMs) return null;
  const most = unlimited(space);
  const replicas = configuration.map((one) => ({ ...one, replicas: most }));
  if (!evaluator.isFeasible(replicas)) return null;
  for (;;) {
    const isBelow = configuration.some((one, stage) => isBelowBounds(space, stage, one));
    if (!isBelow && evaluator.isFeasible(configuration)) return configuration;
    const stage = bottleneck(space, configuration);
    const one = configuration[stage];
    if (one === undefined) throw new RangeError("stage index out of range");
    configuration[stage] = { ...one, replicas: one.replicas + 1 };
  }
}

/**
 * FindMinThru: the task with the least throughput, in requests; the throughput of a task that no
 * request reaches is unlimited.
 */
function bottleneck(
  { problem, scaleFactors }: SearchSpace,
  configuration: readonly TaskConfiguration[],
): number {
  let least = Number.POSITIVE_INFINITY;
  let found = 0;
  for (const [stage, one] of configuration.entries()) {
    const throughput = one.replicas * throughputQps(hardwareOf(problem, stage, one), one.batch);
    const requests = throughput / (scaleFactors[stage] ?? 0);
    if (!(requests < least)) continue;
    least = requests;
    found = stage;
  }
  return found;
}
