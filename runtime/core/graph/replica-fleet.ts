/** Tracks what each worker does and for which task. */
import { assert } from "../assert.ts";
import { IdleSets } from "./idle-sets.ts";
import { NONE } from "./pipeline-shape.ts";
import type { ReplicaShape } from "./replica-shape.ts";
import { BUSY, DOWN, IDLE, LOADING, OFF } from "./worker-fleet.ts";

/**
 * The workers: what each does and for which task, and how many there are of each kind.
 *
 * A replica is a worker that holds the model of a task or loads it. A busy one that is not needed
 * any more is marked as leaving, and goes when its batch is done; it counts as no replica of the
 * task in `active` and `ready`.
 */
export class ReplicaFleet {
  /** [workerCount], each. */
  readonly state: Uint8Array;
  readonly task: Int32Array;
  readonly isLeaving: Uint8Array;
  /**
   * [poolCount]: workers that are up, up without a task, up and leaving, and that have never been
   * up.
   */
  readonly upByPool: Uint32Array;
  readonly offByPool: Uint32Array;
  readonly leavingByPool: Uint32Array;
  readonly unseenByPool: Uint32Array;
  /**
   * Replicas without leaving ones, [taskCount, poolCount], and those of them that are not loading.
   */
  readonly active: Uint32Array;
  readonly ready: Uint32Array;
  /**
   * Replicas including leaving ones, [taskCount]; those that hold their model; and those that are
   * ready and not leaving.
   */
  readonly assignedByTask: Uint32Array;
  readonly holdingByTask: Uint32Array;
  readonly readyByTask: Uint32Array;
  loadingCount = 0;
  leavingCount = 0;
  /** Replicas of all tasks. */
  replicaCount = 0;
  readonly idle: IdleSets;
  readonly #shape: ReplicaShape;
  readonly #wasUp: Uint8Array;

  constructor(shape: ReplicaShape) {
    const { workerCount, taskCount, poolCount, workerStart } = shape;
    this.#shape = shape;
    this.state = new Uint8Array(workerCount);
    this.task = new Int32Array(workerCount).fill(NONE);
    this.isLeaving = new Uint8Array(workerCount);
    this.upByPool = new Uint32Array(poolCount);
    this.offByPool = new Uint32Array(poolCount);
    this.leavingByPool = new Uint32Array(poolCount);
    this.unseenByPool = new Uint32Array(poolCount);
    for (let pool = 0; pool < poolCount; pool++) {
      this.unseenByPool[pool] = workerStart[pool + 1]! - workerStart[pool]!;
    }
    this.active = new Uint32Array(taskCount * poolCount);
    this.ready = new Uint32Array(taskCount * poolCount);
    this.assignedByTask = new Uint32Array(taskCount);
    this.holdingByTask = new Uint32Array(taskCount);
    this.readyByTask = new Uint32Array(taskCount);
    this.idle = new IdleSets(taskCount, workerCount);
    this.#wasUp = new Uint8Array(workerCount);
  }

  comeUp(worker: number): void {
    assert(this.state[worker] === DOWN, "a worker that comes up was down");
    const pool = this.#shape.poolByWorker[worker]!;
    this.state[worker] = OFF;
    this.upByPool[pool]!++;
    this.offByPool[pool]!++;
    if (this.#wasUp[worker] === 1) return;
    this.#wasUp[worker] = 1;
    this.unseenByPool[pool]!--;
  }

  goDown(worker: number): void {
    assert(this.state[worker] !== DOWN, "a worker that goes down was up");
    if (this.state[worker] !== OFF) this.turnOff(worker);
    const pool = this.#shape.poolByWorker[worker]!;
    this.state[worker] = DOWN;
    this.upByPool[pool]!--;
    this.offByPool[pool]!--;
  }

  load(worker: number, task: number): void {
    assert(this.state[worker] === OFF, "a worker that loads a model was off");
    this.state[worker] = LOADING;
    this.task[worker] = task;
    this.offByPool[this.#shape.poolByWorker[worker]!]!--;
    this.#count(worker, 1);
  }

  modelReady(worker: number): void {
    assert(this.state[worker] === LOADING, "a worker with a model was loading it");
    this.#count(worker, -1);
    this.state[worker] = IDLE;
    this.#count(worker, 1);
    this.idle.add(this.task[worker]!, worker);
  }

  start(worker: number): void {
    assert(this.state[worker] === IDLE, "a worker that starts a batch was idle");
    this.state[worker] = BUSY;
    this.idle.remove(this.task[worker]!, worker);
  }

  finish(worker: number): void {
    assert(this.state[worker] === BUSY, "a worker that is done was busy");
    if (this.isLeaving[worker] === 1) {
      this.turnOff(worker);
      return;
    }
    this.state[worker] = IDLE;
    this.idle.add(this.task[worker]!, worker);
  }

  setLeaving(worker: number, isLeaving: boolean): void {
    assert(this.state[worker] === BUSY, "only a busy replica leaves later");
    this.#count(worker, -1);
    this.isLeaving[worker] = isLeaving ? 1 : 0;
    this.#count(worker, 1);
  }

  /** The worker is a replica no more. */
  turnOff(worker: number): void {
    this.#count(worker, -1);
    if (this.state[worker] === IDLE) this.idle.remove(this.task[worker]!, worker);
    this.state[worker] = OFF;
    this.task[worker] = NONE;
    this.isLeaving[worker] = 0;
    this.offByPool[this.#shape.poolByWorker[worker]!]!++;
  }

  /** Counts a replica in or out. @param change 1 or −1. */
  #count(worker: number, change: number): void {
    const task = this.task[worker]!;
    const pool = this.#shape.poolByWorker[worker]!;
    const cell = task * this.#shape.poolCount + pool;
    const isLoading = this.state[worker] === LOADING;
    this.replicaCount += change;
    this.assignedByTask[task]! += change;
    if (isLoading) this.loadingCount += change;
    else this.holdingByTask[task]! += change;
    if (this.isLeaving[worker] === 1) {
      this.leavingCount += change;
      this.leavingByPool[pool]! += change;
      return;
    }
    this.active[cell]! += change;
    if (isLoading) return;
    this.ready[cell]! += change;
    this.readyByTask[task]! += change;
  }
}
