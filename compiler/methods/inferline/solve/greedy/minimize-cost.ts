/**
 * Algorithm 2: reduces the cost of a feasible configuration, one action at a time, by the action
 * that saves the most.
 */

import type { Configuration, TaskConfiguration } from "../../../../graph/served-tasks.ts";
import {
  costOf,
  excessOf,
  hardwareOf,
  type ProvisioningProblem,
  type TaskHardware,
  throughputQps,
} from "../problem.ts";
import { isFeasible, replaced, type SearchSpace, unlimited } from "../search-space.ts";

/**
 * Cheaper hardware that DowngradeHW tries: the next cheaper as in the paper, or any, which is ours.
 */
export type Downgrade = "next" | "any";

interface Candidate {
  readonly configuration: Configuration;
  readonly stage: number;
  /**
   * Replicas beyond the pools: the first quantity to reduce, so that a plan which starts too large
   * can shrink into them.
   */
  readonly excess: number;
  /** Millionths per hour. */
  readonly cost: number;
  /** Possible later savings of the action, millionths per hour. */
  readonly saving: number;
}

/**
 * Repeats until no single action is left that meets the SLO without costing more. Of actions with
 * the same cost takes the one that may save the most later, then the one with the lowest latency,
 * then the first task. Terminates: cost falls, or batches grow at the same cost. Source: InferLine
 * §4.3, Algorithm 2; ties are ours, and so is any cheaper hardware instead of the next.
 */
export function minimizeCost(
  space: SearchSpace,
  start: Configuration,
  downgrade: Downgrade,
): Configuration {
  let configuration = start;
  for (;;) {
    const best = bestAction(space, configuration, downgrade);
    if (best === null) return configuration;
    configuration = best.configuration;
  }
}

function bestAction(
  space: SearchSpace,
  configuration: Configuration,
  downgrade: Downgrade,
): Candidate | null {
  const current = candidateOf(space, configuration, -1, 0);
  const simple = [...simpleActions(space, configuration)].sort(compare);
  let best: Candidate | null = null;
  for (const candidate of simple) {
    if (best !== null && compare(candidate, best) > 0) break;
    if (!isFeasible(space, candidate.configuration)) continue;
    best = best === null ? candidate : betterOf(space, best, candidate);
  }
  const moves = { downgrade, best: () => best ?? current };
  for (const candidate of downgrades(space, configuration, moves)) {
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
  { downgrade, best }: { readonly downgrade: Downgrade; readonly best: () => Candidate },
): Generator<Candidate> {
  const { problem, bounds } = space;
  for (const [stage, one] of configuration.entries()) {
    const { price } = hardwareOf(problem, stage, one);
    const others = costOf(problem, configuration) - one.replicas * price;
    for (const [hardware, other] of cheaperHardware(problem, stage, price, downgrade)) {
      const least = Math.min(...(bounds.replicas[stage]?.[hardware] ?? []));
      const { excess, cost } = best();
      if (excess === 0 && others + least * other.price > cost) continue;
      const moved = moveTo(space, configuration, stage, hardware);
      if (moved !== null) yield candidateOf(space, moved, stage, 0);
    }
  }
}

/**
 * Hardware that a task may be moved to, by index. The next cheaper is that of the next lower price;
 * if several have it, all of them.
 */
function cheaperHardware(
  { stages }: ProvisioningProblem,
  stage: number,
  price: number,
  downgrade: Downgrade,
): [number, TaskHardware][] {
  const cheaper = [...(stages[stage]?.hardware ?? []).entries()].filter(
    ([, other]) => other.price < price,
  );
  if (downgrade === "any") return cheaper;
  const next = Math.max(...cheaper.map(([, other]) => other.price));
  return cheaper.filter(([, other]) => other.price === next);
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
    compare(a, b) || latencyOrder(space, a.configuration, b.configuration) || a.stage - b.stage;
  return order <= 0 ? a : b;
}

function latencyOrder({ evaluator }: SearchSpace, a: Configuration, b: Configuration): number {
  return evaluator.latencyOf(a).percentileMs - evaluator.latencyOf(b).percentileMs;
}

/** @returns null at one replica. */
function removeReplica(one: TaskConfiguration): TaskConfiguration | null {
  return one.replicas > 1 ? { ...one, replicas: one.replicas - 1 } : null;
}

/**
 * Doubles the batch within the available sizes: the largest up to twice as large, or else the next.
 * @returns null at the largest.
 */
function increaseBatch(
  { problem }: SearchSpace,
  stage: number,
  one: TaskConfiguration,
): TaskConfiguration | null {
  const larger = hardwareOf(problem, stage, one).batches.filter((size) => size > one.batch);
  const doubled = larger.findLast((size) => size <= 2 * one.batch);
  const batch = doubled ?? larger[0];
  return batch === undefined ? null : { ...one, batch };
}

/**
 * Estimates what a larger batch may save: the replicas that its throughput makes superfluous,
 * millionths per hour.
 */
function savingOf(
  { problem }: SearchSpace,
  stage: number,
  before: TaskConfiguration,
  after: TaskConfiguration,
): number {
  const hardware = hardwareOf(problem, stage, before);
  const part = throughputQps(hardware, before.batch) / throughputQps(hardware, after.batch);
  return hardware.price * (before.replicas - Math.ceil(before.replicas * part));
}

/**
 * Moves the task to cheaper hardware, the others unchanged: replicas are added with the smallest
 * batch until the SLO is met, then batches grow and replicas are removed while that reduces the
 * cost. The result may cost more than before. Any number of replicas may be the one that helps:
 * with more replicas queries reach later tasks in larger bursts. But none does if too many are late
 * there without waiting, and once some replicas are never busy, more make no difference.
 * @returns null if no number of replicas helps.
 */
function moveTo(
  space: SearchSpace,
  configuration: Configuration,
  stage: number,
  hardware: number,
): Configuration | null {
  const { problem, bounds, evaluator } = space;
  const batches = problem.stages[stage]?.hardware[hardware]?.batches ?? [];
  const [batch = 1] = batches;
  const least = bounds.replicas[stage]?.[hardware]?.[0] ?? 1;
  const most = unlimited(space);
  if (least > most) return null;
  const free = replaced(configuration, stage, { hardware, batch, replicas: most });
  if (!isFeasible(space, free) && evaluator.failedAt === stage) return null;
  for (let replicas = Math.max(1, least); replicas <= most; replicas++) {
    const found = replaced(configuration, stage, { hardware, batch, replicas });
    if (isFeasible(space, found)) return minimizeStage(space, found, stage);
    if (evaluator.failedAt !== stage && !evaluator.wereAllAtWork(stage)) return null;
  }
  return null;
}

/** The planner's loop for one task, without changes of hardware. */
function minimizeStage(space: SearchSpace, start: Configuration, stage: number): Configuration {
  let configuration = start;
  for (;;) {
    const one = configuration[stage];
    if (one === undefined) throw new RangeError("stage index out of range");
    const next = [removeReplica(one), increaseBatch(space, stage, one)]
      .filter((candidate) => candidate !== null)
      .map((candidate) => replaced(configuration, stage, candidate))
      .find((candidate) => isFeasible(space, candidate));
    if (next === undefined) return configuration;
    configuration = next;
  }
}
