/** Starts missing replicas and releases surplus ones. */
import type { CommandBuffer } from "../command-buffer.ts";
import { NONE } from "./pipeline-shape.ts";
import { ReplicaAllotment } from "./replica-allotment.ts";
import type { ReplicaFleet } from "./replica-fleet.ts";
import type { ReplicaShape } from "./replica-shape.ts";
import { BUSY, IDLE, LOADING, OFF } from "./worker-fleet.ts";

/**
 * Brings the replicas to their targets: starts missing ones and releases surplus ones.
 *
 * Among a task's replicas in its pool, idle ones go first while enough ready ones are left, then
 * those that still load, then busy ones once their batch is done. Replicas in another pool, left
 * from an earlier plan, keep serving until the task has all its replicas in its pool. One that
 * occupies the place of a replica that has to start goes once its task has another ready one, or
 * when nothing else would free a place.
 */
export class ReplicaKeeper {
  readonly allotment: ReplicaAllotment;
  readonly #shape: ReplicaShape;
  readonly #fleet: ReplicaFleet;
  /**
   * [workerCount]: whether a worker has stopped being a replica since the last `settle`; it is
   * released unless it becomes another one at once.
   */
  readonly #isFreed: Uint8Array;
  #freedCount = 0;

  constructor(shape: ReplicaShape, fleet: ReplicaFleet) {
    this.#shape = shape;
    this.#fleet = fleet;
    this.allotment = new ReplicaAllotment(shape);
    this.#isFreed = new Uint8Array(shape.workerCount);
  }

  /**
   * A busy worker is done.
   * @returns whether it was leaving: it is released, or something else, in the `settle` that is
   * due.
   */
  finish(worker: number): boolean {
    this.#fleet.finish(worker);
    if (this.#fleet.state[worker] !== OFF) return false;
    this.#setFreed(worker, 1);
    return true;
  }

  /**
   * @param targets replicas of each task, if there are enough workers.
   * @param cores of new ones, by task; null if workers do not differ in them.
   */
  settle(
    level: number,
    targets: Uint32Array,
    out: CommandBuffer,
    cores: Uint32Array | null = null,
  ): void {
    const { taskCount, poolCount } = this.#shape;
    this.allotment.update(level, targets, this.#fleet);
    for (let task = 0; task < taskCount; task++) this.#trim(task);
    for (let pool = 0; pool < poolCount; pool++) this.#startMissing(pool, out, cores);
    for (let pool = 0; pool < poolCount; pool++) this.#makeRoom(pool, out, cores);
    for (let worker = 0; this.#freedCount > 0; worker++) {
      if (this.#isFreed[worker] === 1) out.release(worker);
      this.#setFreed(worker, 0);
    }
  }

  /** Whether a task has a replica that stays, or will have one; as of the last `settle`. */
  hasProspect(task: number): boolean {
    const { wanted, pool } = this.allotment;
    if (wanted[task]! > 0 || this.#fleet.readyByTask[task]! > 0) return true;
    return this.#fleet.unseenByPool[pool[task]!]! > 0;
  }

  #trim(task: number): void {
    const { poolCount } = this.#shape;
    const { active, ready } = this.#fleet;
    const home = this.allotment.pool[task]!;
    const wanted = this.allotment.wanted[task]!;
    const cell = task * poolCount + home;
    if (active[cell]! < wanted) this.#takeBack(task, home, wanted);
    else this.#reduce(task, home, wanted);
    const isServed = wanted > 0 && ready[cell]! >= wanted;
    for (let pool = 0; pool < poolCount; pool++) {
      if (pool === home || active[task * poolCount + pool] === 0) continue;
      // A replica that still loads there is of no use in either case.
      this.#reduce(task, pool, isServed ? 0 : ready[task * poolCount + pool]!);
    }
  }

  /** Leaving replicas of a pool stay after all, the lowest indices first. */
  #takeBack(task: number, pool: number, wanted: number): void {
    const { workerStart, poolCount } = this.#shape;
    const fleet = this.#fleet;
    const cell = task * poolCount + pool;
    for (let worker = workerStart[pool]!; worker < workerStart[pool + 1]!; worker++) {
      if (fleet.leavingByPool[pool] === 0 || fleet.active[cell]! >= wanted) return;
      if (fleet.task[worker] === task && fleet.isLeaving[worker] === 1) {
        fleet.setLeaving(worker, false);
      }
    }
  }

  /** Keeps at most this many replicas in a pool; the highest indices go first. */
  #reduce(task: number, pool: number, kept: number): void {
    const { poolCount } = this.#shape;
    const { active, ready } = this.#fleet;
    const cell = task * poolCount + pool;
    while (active[cell]! > kept) {
      let worker = ready[cell]! > kept ? this.#last(task, pool, IDLE) : NONE;
      if (worker === NONE) worker = this.#last(task, pool, LOADING);
      if (worker === NONE) this.#fleet.setLeaving(this.#last(task, pool, BUSY), true);
      else this.#free(worker);
    }
  }

  /** Returns the highest-indexed replica in a state that is not leaving, or NONE. */
  #last(task: number, pool: number, state: number): number {
    const { workerStart } = this.#shape;
    const fleet = this.#fleet;
    for (let worker = workerStart[pool + 1]! - 1; worker >= workerStart[pool]!; worker--) {
      const isIt = fleet.task[worker] === task && fleet.state[worker] === state;
      if (isIt && fleet.isLeaving[worker] === 0) return worker;
    }
    return NONE;
  }

  /**
   * Starts replicas on workers that are off; the task with the smallest part of its target is
   * first.
   */
  #startMissing(pool: number, out: CommandBuffer, cores: Uint32Array | null): void {
    const { workerStart } = this.#shape;
    const fleet = this.#fleet;
    for (let worker = workerStart[pool]!; fleet.offByPool[pool]! > 0; worker++) {
      if (fleet.state[worker] !== OFF) continue;
      const task = this.#neediest(pool);
      if (task === NONE) return;
      fleet.load(worker, task);
      this.#setFreed(worker, 0);
      const variant = this.#shape.variantByTaskPool[task * this.#shape.poolCount + pool]!;
      out.assign(worker, variant, cores === null ? 0 : cores[task]!);
    }
  }

  #neediest(pool: number): number {
    const { taskCount, poolCount } = this.#shape;
    const { wanted, pool: poolByTask } = this.allotment;
    let best = NONE;
    let bestPart = 1;
    for (let task = 0; task < taskCount; task++) {
      if (poolByTask[task] !== pool) continue;
      const active = this.#fleet.active[task * poolCount + pool]!;
      if (active >= wanted[task]!) continue;
      const part = active / wanted[task]!;
      if (part >= bestPart) continue;
      best = task;
      bestPart = part;
    }
    return best;
  }

  /** Releases replicas of other plans where they block missing ones in a pool. */
  #makeRoom(pool: number, out: CommandBuffer, cores: Uint32Array | null): void {
    const fleet = this.#fleet;
    let missing = this.#missing(pool) - fleet.leavingByPool[pool]!;
    for (; missing > 0; missing--) {
      const isStuck = fleet.loadingCount === 0 && fleet.leavingCount === 0;
      const worker = this.#inTheWay(pool, isStuck);
      if (worker === NONE) return;
      if (fleet.state[worker] === BUSY) fleet.setLeaving(worker, true);
      else {
        this.#free(worker);
        this.#startMissing(pool, out, cores);
      }
    }
  }

  #missing(pool: number): number {
    const { taskCount, poolCount } = this.#shape;
    const { wanted, pool: poolByTask } = this.allotment;
    let missing = 0;
    for (let task = 0; task < taskCount; task++) {
      if (poolByTask[task] !== pool) continue;
      missing += Math.max(0, wanted[task]! - this.#fleet.active[task * poolCount + pool]!);
    }
    return missing;
  }

  /**
   * Returns a ready replica whose task belongs in another pool; idle ones first, then the highest
   * index. NONE if none may go.
   */
  #inTheWay(pool: number, isStuck: boolean): number {
    const { workerStart } = this.#shape;
    const fleet = this.#fleet;
    let busy = NONE;
    for (let worker = workerStart[pool + 1]! - 1; worker >= workerStart[pool]!; worker--) {
      const task = fleet.task[worker]!;
      if (task === NONE || fleet.isLeaving[worker] === 1) continue;
      if (this.allotment.pool[task] === pool) continue;
      if (!isStuck && fleet.readyByTask[task]! < 2) continue;
      if (fleet.state[worker] === IDLE) return worker;
      if (busy === NONE && fleet.state[worker] === BUSY) busy = worker;
    }
    return busy;
  }

  #free(worker: number): void {
    this.#fleet.turnOff(worker);
    this.#setFreed(worker, 1);
  }

  #setFreed(worker: number, isFreed: 0 | 1): void {
    this.#freedCount += isFreed - this.#isFreed[worker]!;
    this.#isFreed[worker] = isFreed;
  }
}
