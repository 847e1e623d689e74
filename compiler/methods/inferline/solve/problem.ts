/**
 * Provisioning of a pipeline as data: what each task may run on, and what a plan is measured by.
 */
import type {
  BatchTimes,
  Configuration,
  ServedTasks,
  TaskConfiguration,
} from "../../../graph/served-tasks.ts";

export interface ProvisioningProblem extends ServedTasks {
  /** In the order of the tasks. */
  readonly stages: readonly Stage[];
  /** Most replicas of all tasks together, by pool. */
  readonly workersByPool: readonly number[];
  readonly sloMs: number;
}

interface Stage {
  readonly name: string;
  /** By ascending price, then latency of a batch of one, then pool. */
  readonly hardware: readonly TaskHardware[];
}

/** What a task can run on: a variant of its task in a pool. */
export interface TaskHardware extends BatchTimes {
  readonly variant: number;
  readonly pool: number;
  /** Price of one replica per hour, millionths of the unit of prices: money is whole numbers. */
  readonly price: number;
  /**
   * Largest batches to choose from, ascending: profiled sizes whose throughput exceeds that of all
   * smaller ones.
   */
  readonly batches: readonly number[];
}

export function hardwareOf(
  { stages }: ProvisioningProblem,
  stage: number,
  { hardware }: Pick<TaskConfiguration, "hardware">,
): TaskHardware {
  const chosen = stages[stage]?.hardware[hardware];
  if (chosen === undefined) throw new RangeError("a configuration names hardware of its stage");
  return chosen;
}

/** Per hour, in millionths. */
export function costOf(problem: ProvisioningProblem, configuration: Configuration): number {
  return configuration.reduce(
    (sum, one, stage) => sum + one.replicas * hardwareOf(problem, stage, one).price,
    0,
  );
}

/** Replicas beyond what the pools have. */
export function excessOf(problem: ProvisioningProblem, configuration: Configuration): number {
  const used = problem.workersByPool.map(() => 0);
  for (const [stage, one] of configuration.entries()) {
    const { pool } = hardwareOf(problem, stage, one);
    used[pool] = (used[pool] ?? 0) + one.replicas;
  }
  return used.reduce((sum, count, pool) => {
    return sum + Math.max(0, count - (problem.workersByPool[pool] ?? 0));
  }, 0);
}

/** Of one replica with whole batches, per second. */
export function throughputQps({ batchMs }: TaskHardware, batch: number): number {
  return (1000 * batch) / (batchMs[batch - 1] ?? Number.POSITIVE_INFINITY);
}
