/**
 * Provisioning of a pipeline as data: possible hardware of each task, and the criteria of a plan.
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
  /** Maximum replicas of all tasks together, by pool. */
  readonly workersByPool: readonly number[];
  readonly sloMs: number;
}

interface Stage {
  readonly name: string;
  /** Ascending by price, then latency of a batch of one, then pool. */
  readonly hardware: readonly TaskHardware[];
}

/** Hardware option of a task: a variant of the task in a pool. */
export interface TaskHardware extends BatchTimes {
  readonly variant: number;
  readonly pool: number;
  /** Price of one replica per hour, in integer millionths of the currency. */
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
  if (chosen === undefined) throw new RangeError("hardware index out of range");
  return chosen;
}

/** Cost per hour, in millionths. */
export function costOf(problem: ProvisioningProblem, configuration: Configuration): number {
  return configuration.reduce(
    (sum, one, stage) => sum + one.replicas * hardwareOf(problem, stage, one).price,
    0,
  );
}

/** Replicas beyond the capacity of the pools. */
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

/** Throughput of one replica with whole batches, per second. */
export function throughputQps({ batchMs }: TaskHardware, batch: number): number {
  return (1000 * batch) / (batchMs[batch - 1] ?? Number.POSITIVE_INFINITY);
}
