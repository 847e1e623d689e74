/**
 * Algorithm 2: from a feasible configuration down, one action at a time, the one that cuts the cost
 * most.
 */

import type { Configuration } from "../../../../graph/served-tasks.ts";
import { costOf, excessOf, hardwareOf } from "../problem.ts";
import { isFeasible, replaced, type SearchSpace } from "../search-space.ts";
import { increaseBatch, moveTo, removeReplica, savingOf } from "./actions.ts";

interface Candidate {
  readonly configuration: Configuration;
  readonly stage: number;
  /**
   * Replicas beyond the pools: the first thing to be cut, so that a plan which starts too large can
   * shrink into them.
   */
  readonly excess: number;
  /** Millionths per hour. */
  readonly cost: number;
  /** What the action may save later, millionths per hour. */
  readonly saving: number;
}

/**
 * Until no single action is left that meets the SLO without costing more. Of actions that cost the
 * same the one that may save the most later is taken, then the one with the lowest latency, then
 * the first task. Terminates: cost falls, or batches grow at the same cost. Source: InferLine
 * §4.3, Algorithm 2; ties and cheaper hardware that is not the next one are ours.
 */
export function minimizeCost(space: SearchSpace, start: Configuration): Configuration {
  let configuration = start;
  for (;;) {
    const best = bestAction(space, configuration);
    if (best === null) return configuration;
    configuration = best.configuration;
  }
}

function bestAction(space: SearchSpace, configuration: Configuration): Candidate | null {
  const current = candidateOf(space, configuration, -1, 0);
  const simple = [...simpleActions(space, configuration)].sort(compare);
  let best: Candidate | null = null;
  for (const candidate of simple) {
    if (best !== null && compare(candidate, best) > 0) break;
    if (!isFeasible(space, candidate.configuration)) continue;
    best = best === null ? candidate : betterOf(space, best, candidate);
  }
  for (const candidate of downgrades(space, configuration, () => best ?? current)) {
    if (compareCost(candidate, current) >= 0) continue;
    best = best === null ? candidate : betterOf(space, best, candidate);
  }
  return best;
}

function* simpleActions(space: SearchSpace, configuration: Configuration): Generator<Candidate> {
  for (const [stage, one] of configuration.entries()) {
    const fewer = removeReplica(one);
    if (fewer !== null) {
      yield candidateOf(space, replaced(configuration, stage, fewer), stage, 0);
    }
    const larger = increaseBatch(space, stage, one);
    if (larger === null) continue;
    const saving = savingOf(space, stage, one, larger);
    yield candidateOf(space, replaced(configuration, stage, larger), stage, saving);
  }
}

/** @param best so far; hardware on which the task cannot become cheaper than that is not tried. */
function* downgrades(
  space: SearchSpace,
  configuration: Configuration,
  best: () => Candidate,
): Generator<Candidate> {
  const { problem, bounds } = space;
  for (const [stage, one] of configuration.entries()) {
    const { price } = hardwareOf(problem, stage, one);
    const others = costOf(problem, configuration) - one.replicas * price;
    for (const [hardware, other] of (problem.stages[stage]?.hardware ?? []).entries()) {
      if (hardware === one.hardware || other.price >= price) continue;
      const least = Math.min(...(bounds.replicas[stage]?.[hardware] ?? []));
      const { excess, cost } = best();
      if (excess === 0 && others + least * other.price > cost) continue;
      const moved = moveTo(space, configuration, stage, hardware);
      if (moved !== null) yield candidateOf(space, moved, stage, 0);
    }
  }
}

function candidateOf(
  { problem }: SearchSpace,
  configuration: Configuration,
  stage: number,
  saving: number,
): Candidate {
  const excess = excessOf(problem, configuration);
  return { configuration, stage, excess, cost: costOf(problem, configuration), saving };
}

function compareCost(a: Candidate, b: Candidate): number {
  return a.excess - b.excess || a.cost - b.cost;
}

function compare(a: Candidate, b: Candidate): number {
  return compareCost(a, b) || b.saving - a.saving;
}

function betterOf(space: SearchSpace, a: Candidate, b: Candidate): Candidate {
  const order =
    compare(a, b) ||
    space.evaluator.percentileMs(a.configuration) - space.evaluator.percentileMs(b.configuration) ||
    a.stage - b.stage;
  return order <= 0 ? a : b;
}
