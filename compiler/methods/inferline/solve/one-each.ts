/** Finds one replica for every task, each on hardware that has a worker left. */
import type { Configuration, TaskConfiguration } from "../../../graph/served-tasks.ts";
import type { ProvisioningProblem } from "./problem.ts";

/**
 * Places one replica for every task by augmenting paths, since a task may have to move for another.
 * @returns hardware by task, null if no placement of the others leaves a replica for it.
 */
export function placedOnce(
  hardwareByStage: readonly (readonly { readonly pool: number }[])[],
  workersByPool: readonly number[],
): (number | null)[] {
  const placed: (number | null)[] = hardwareByStage.map(() => null);
  const poolOf = (stage: number): number =>
    hardwareByStage[stage]?.[placed[stage] ?? -1]?.pool ?? -1;
  const place = (stage: number, tried: Set<number>): boolean => {
    for (const [hardware, { pool }] of (hardwareByStage[stage] ?? []).entries()) {
      if (tried.has(pool)) continue;
      tried.add(pool);
      const there = placed.flatMap((_, other) => (poolOf(other) === pool ? [other] : []));
      const hasRoom = there.length < (workersByPool[pool] ?? 0);
      if (!hasRoom && !there.some((other) => place(other, tried))) continue;
      placed[stage] = hardware;
      return true;
    }
    return false;
  };
  for (const stage of hardwareByStage.keys()) place(stage, new Set());
  return placed;
}

/**
 * The smallest configuration, with batches of the smallest size.
 * @throws RangeError if the pools have fewer replicas than tasks.
 */
export function oneEach({ stages, workersByPool }: ProvisioningProblem): Configuration {
  const placed = placedOnce(
    stages.map(({ hardware }) => hardware),
    workersByPool,
  );
  return placed.map((hardware, stage): TaskConfiguration => {
    if (hardware === null) throw new RangeError("the pools have fewer replicas than stages");
    return { hardware, batch: stages[stage]?.hardware[hardware]?.batches[0] ?? 1, replicas: 1 };
  });
}
