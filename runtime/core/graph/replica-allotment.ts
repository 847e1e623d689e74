/** Divides the workers that are up among the tasks. */
import { NONE } from "./pipeline-shape.ts";
import type { ReplicaFleet } from "./replica-fleet.ts";
import type { ReplicaShape } from "./replica-shape.ts";

/**
 * Divides the workers that are up: how many replicas each task gets, and in which pool.
 *
 * First every task with a target gets one. Then planned replicas come before those that the tuner
 * adds, and the task with the smallest part of its target comes first; ties go to the first. A task
 * whose pool has no worker left gets its one replica in another pool that can run it; not while
 * workers of its own pool have yet to come up for the first time, as when a server starts.
 */
export class ReplicaAllotment {
  /** [taskCount], each: replicas, 0 where no worker is left; and their pool. */
  readonly wanted: Uint32Array;
  readonly pool: Uint32Array;
  readonly #shape: ReplicaShape;
  /** [poolCount]: workers up that are not given to any task. */
  readonly #free: Uint32Array;
  /** Limit of the current round, [taskCount]. */
  readonly #limit: Uint32Array;

  constructor(shape: ReplicaShape) {
    this.#shape = shape;
    this.wanted = new Uint32Array(shape.taskCount);
    this.pool = new Uint32Array(shape.taskCount);
    this.#free = new Uint32Array(shape.poolCount);
    this.#limit = new Uint32Array(shape.taskCount);
  }

  /** @param targets by task; 0 for no replicas. */
  update(
    level: number,
    targets: Uint32Array,
    { upByPool, unseenByPool }: Pick<ReplicaFleet, "upByPool" | "unseenByPool">,
  ): void {
    const { taskCount, poolByLevelTask, replicasByLevelTask } = this.#shape;
    const plan = level * taskCount;
    this.#free.set(upByPool);
    this.wanted.fill(0);
    for (let task = 0; task < taskCount; task++) {
      this.pool[task] = poolByLevelTask[plan + task]!;
      if (targets[task]! > 0) this.#give(task, this.pool[task]!);
    }
    for (let task = 0; task < taskCount; task++) {
      const home = this.pool[task]!;
      if (this.wanted[task]! > 0 || targets[task] === 0 || unseenByPool[home]! > 0) continue;
      const other = this.#otherPool(task);
      if (other !== NONE) this.#give(task, other);
    }
    for (let task = 0; task < taskCount; task++) {
      this.#limit[task] = Math.min(targets[task]!, replicasByLevelTask[plan + task]!);
    }
    this.#fill(plan);
    this.#limit.set(targets);
    this.#fill(plan);
  }

  /** Gives replicas in the planned pools up to the limits, as far as workers are there. */
  #fill(plan: number): void {
    const { taskCount, poolByLevelTask } = this.#shape;
    for (;;) {
      let best = NONE;
      let bestPart = 1;
      for (let task = 0; task < taskCount; task++) {
        const part = this.wanted[task]! / this.#limit[task]!;
        // NaN without a target, for which the comparison is false.
        if (!(part < bestPart)) continue;
        const pool = this.pool[task]!;
        if (this.#free[pool] === 0 || pool !== poolByLevelTask[plan + task]) continue;
        best = task;
        bestPart = part;
      }
      if (best === NONE) return;
      this.#give(best, this.pool[best]!);
    }
  }

  #give(task: number, pool: number): void {
    if (this.#free[pool] === 0) return;
    this.#free[pool]!--;
    this.wanted[task]!++;
    this.pool[task] = pool;
  }

  #otherPool(task: number): number {
    const { poolCount, variantByTaskPool } = this.#shape;
    for (let pool = 0; pool < poolCount; pool++) {
      const canRun = variantByTaskPool[task * poolCount + pool] !== NONE;
      if (canRun && this.#free[pool]! > 0) return pool;
    }
    return NONE;
  }
}
