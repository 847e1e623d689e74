/** Counts the workers of a plan, by task and pool. */
import type { Cluster } from "../bundle/schema.ts";

export interface PlannedWorkers {
  readonly task: string;
  readonly pool: string;
  readonly workers: number;
}

/** A row of a plan, by index. */
interface PlannedRow {
  readonly task: number;
  readonly pool: number;
  readonly workers: number;
}

/** Tasks and pools that plans refer to. */
interface Planned {
  readonly tasks: readonly { readonly name: string }[];
  readonly cluster: Cluster;
}

/** @param rows rows of a plan; those of one task in one pool are added up. */
export function plannedWorkers(
  { tasks, cluster }: Planned,
  rows: readonly PlannedRow[],
): PlannedWorkers[] {
  const sums = new Map<string, PlannedWorkers>();
  for (const { task, pool, workers } of rows) {
    const key = `${task} ${pool}`;
    sums.set(key, {
      task: tasks[task]?.name ?? "",
      pool: cluster.pools[pool]?.name ?? "",
      workers: workers + (sums.get(key)?.workers ?? 0),
    });
  }
  return [...sums.values()];
}
