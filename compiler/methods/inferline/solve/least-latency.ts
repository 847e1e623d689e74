/** Chooses, among plans that cost the same, one with less latency. */

import type { Configuration, TaskConfiguration } from "../../../graph/served-tasks.ts";
import { excessOf, hardwareOf, type ProvisioningProblem } from "./problem.ts";
import { isFeasible, replaced, type SearchSpace } from "./search-space.ts";

/** Queries of all tasks that the search may serve: it only decides between equals. */
const QUERY_LIMIT = 5e6;

/**
 * Changes the plan, one step at a time, as long as the percentile of the latency falls, or the
 * median at the same percentile: greedy and search stop at the first plan that serves at its cost,
 * often with a large batch that makes queries wait for each other. A step changes one task to
 * another batch, or to other hardware for as much money; or two tasks to other batches, with or
 * without a replica that moves from one to the other.
 * @param start feasible, within the pools. @returns a feasible configuration that costs as much.
 */
export function leastLatency(space: SearchSpace, start: Configuration): Configuration {
  const { problem, evaluator } = space;
  const mostQueries = evaluator.queries + QUERY_LIMIT;
  let configuration = start;
  let best = evaluator.latencyOf(start);
  for (let isLower = true; isLower; ) {
    isLower = false;
    for (const other of steps(problem, configuration)) {
      if (evaluator.queries > mostQueries) return configuration;
      if (excessOf(problem, other) > 0 || !isFeasible(space, other)) continue;
      const found = evaluator.latencyOf(other);
      const order = found.percentileMs - best.percentileMs || found.p50Ms - best.p50Ms;
      if (order >= 0) continue;
      configuration = other;
      best = found;
      isLower = true;
      break;
    }
  }
  return configuration;
}

function* steps(
  problem: ProvisioningProblem,
  configuration: Configuration,
): Generator<Configuration> {
  for (const [stage, one] of configuration.entries()) {
    for (const other of forAsMuch(problem, stage, one)) {
      yield replaced(configuration, stage, other);
    }
  }
  for (const [from, giver] of configuration.entries()) {
    for (const [to, taker] of configuration.entries()) {
      if (to !== from) yield* inPairs(problem, configuration, [from, giver], [to, taker]);
    }
  }
}

type Member = readonly [stage: number, task: TaskConfiguration];

/** Two tasks with any batches, and a replica moved from the first to the second or not. */
function* inPairs(
  problem: ProvisioningProblem,
  configuration: Configuration,
  [from, giver]: Member,
  [to, taker]: Member,
): Generator<Configuration> {
  const one = hardwareOf(problem, from, giver);
  const other = hardwareOf(problem, to, taker);
  const mostMoved = giver.replicas > 1 && one.price === other.price ? 1 : 0;
  // A pair without a move is the same in either order.
  for (let moved = from < to ? 0 : 1; moved <= mostMoved; moved++) {
    for (const batch of one.batches) {
      const fewer = { ...giver, batch, replicas: giver.replicas - moved };
      for (const batchOfOther of other.batches) {
        // One task alone was tried.
        if (moved === 0 && (batch === giver.batch || batchOfOther === taker.batch)) continue;
        const more = { ...taker, batch: batchOfOther, replicas: taker.replicas + moved };
        yield replaced(replaced(configuration, from, fewer), to, more);
      }
    }
  }
}

/** Lists the alternatives of a task at the same cost. */
function* forAsMuch(
  problem: ProvisioningProblem,
  stage: number,
  one: TaskConfiguration,
): Generator<TaskConfiguration> {
  const cost = one.replicas * hardwareOf(problem, stage, one).price;
  for (const [hardware, { price, batches }] of (problem.stages[stage]?.hardware ?? []).entries()) {
    const replicas = hardware === one.hardware ? one.replicas : cost / price;
    if (!Number.isInteger(replicas) || replicas < 1) continue;
    for (const batch of batches) {
      if (hardware !== one.hardware || batch !== one.batch) yield { hardware, batch, replicas };
    }
  }
}
