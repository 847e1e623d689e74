/** What the planner may change about one task. Source: InferLine §4.3. */

import type { Configuration, TaskConfiguration } from "../../../../graph/served-tasks.ts";
import { hardwareOf, throughputQps } from "../problem.ts";
import { isFeasible, replaced, type SearchSpace, unlimited } from "../search-space.ts";

/** @returns null at one replica. */
export function removeReplica(one: TaskConfiguration): TaskConfiguration | null {
  return one.replicas > 1 ? { ...one, replicas: one.replicas - 1 } : null;
}

/**
 * Doubles the batch within the sizes there are: the largest up to twice as large, or else the next.
 * @returns null at the largest.
 */
export function increaseBatch(
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
export function savingOf(
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
 * The task on cheaper hardware, the others as they are: replicas are added to the smallest batch
 * until the SLO is met, then batches grow and replicas go while that cuts the cost. The result may
 * cost more than what there was. Any number may be the one that helps: with more replicas queries
 * come to the tasks behind in larger bunches. But none does where too many are late there without
 * waiting, and once some never work, more make no difference.
 * @returns null if no number of replicas helps.
 */
export function moveTo(
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

/** The planner's loop with one task and without changes of hardware. */
function minimizeStage(space: SearchSpace, start: Configuration, stage: number): Configuration {
  let configuration = start;
  for (;;) {
    const one = configuration[stage];
    if (one === undefined) throw new RangeError("a stage is one of the configuration");
    const next = [removeReplica(one), increaseBatch(space, stage, one)]
      .filter((candidate) => candidate !== null)
      .map((candidate) => replaced(configuration, stage, candidate))
      .find((candidate) => isFeasible(space, candidate));
    if (next === undefined) return configuration;
    configuration = next;
  }
}
