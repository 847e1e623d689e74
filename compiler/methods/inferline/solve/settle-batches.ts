/** Of plans that cost the same, one with less latency: batches are free. */

import type { Configuration } from "../../../graph/served-tasks.ts";
import { hardwareOf } from "./problem.ts";
import { isFeasible, replaced, type SearchSpace } from "./search-space.ts";

/**
 * Tries every other batch of every task, one task at a time, and keeps the one with the lowest
 * percentile of the latency, until none is lower: greedy and search stop at the first batch that
 * serves, often a large one that makes queries wait for each other.
 * @param start feasible. @returns a feasible configuration of the same hardware and replicas.
 */
export function settleBatches(space: SearchSpace, start: Configuration): Configuration {
  let configuration = start;
  let bestMs = space.evaluator.percentileMs(start);
  for (let isLower = true; isLower; ) {
    isLower = false;
    for (const [stage, one] of configuration.entries()) {
      for (const batch of hardwareOf(space.problem, stage, one).batches) {
        const other = replaced(configuration, stage, { ...one, batch });
        if (batch === one.batch || !isFeasible(space, other)) continue;
        const ms = space.evaluator.percentileMs(other);
        if (!(ms < bestMs)) continue;
        configuration = other;
        bestMs = ms;
        isLower = true;
      }
    }
  }
  return configuration;
}
