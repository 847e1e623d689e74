/** How many workers a plan uses, of each task in each pool. */
import type { Cluster } from "../bundle/schema.ts";

export interface PlannedWorkers {
  /** By name, as the pool is. */
  readonly task: string;
  readonly pool: string;
  readonly workers: number;
}

/** What a plan has in a row, by index. */
interface PlannedRow {
  readonly task: number;
  readonly pool: number;
  readonly workers: number;
}

/** What plans are of: tasks and pools with names. */
interface Planned {
  readonly tasks: readonly { readonly name: string }[];
  readonly cluster: Cluster;
}

/** @param rows of a plan; those of one task in one pool are added up. */
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
