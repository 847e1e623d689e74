/** Keeps how many cores each instance has, and is to have. */
import type { CommandBuffer } from "../../../core/command-buffer.ts";
import { NONE } from "../../../core/graph/pipeline-shape.ts";
import type { ReplicaFleet } from "../../../core/graph/replica-fleet.ts";
import { BUSY, IDLE } from "../../../core/graph/worker-fleet.ts";

/**
 * How many cores each instance has, and is to have. A task here is one variant, as the fleet has
 * it.
 */
export class InstanceCores {
  /**
   * Cores that instances hold, leaving ones included, [taskCount]: the larger of current and target
   * cores.
   */
  readonly heldByTask: Uint32Array;
  /**
   * [workerCount], each: cores in force, 0 until the instance is up; cores it is to have, 0 for
   * none; and the task it counts for.
   */
  readonly #inForce: Uint16Array;
  readonly #wanted: Uint16Array;
  readonly #task: Int32Array;
  /** [workerCount]: whether it was leaving as of the last `follow`. */
  readonly #wasLeaving: Uint8Array;
  /** [taskCount]: least cores in force of instances that are up and stay. */
  readonly #least: Uint32Array;
  /** [taskCount]: whether instances may differ in their cores in force. */
  readonly #isMixed: Uint8Array;

  constructor(taskCount: number, workerCount: number) {
    this.heldByTask = new Uint32Array(taskCount);
    this.#inForce = new Uint16Array(workerCount);
    this.#wanted = new Uint16Array(workerCount);
    this.#task = new Int32Array(workerCount).fill(NONE);
    this.#wasLeaving = new Uint8Array(workerCount);
    this.#least = new Uint32Array(taskCount);
    this.#isMixed = new Uint8Array(taskCount);
  }

  /** Cores of an instance that are in force, 0 until it is up. */
  inForce(worker: number): number {
    return this.#inForce[worker]!;
  }

  /** Called when a loading instance is up, with its last target cores. */
  comeUp(worker: number): void {
    this.#change(worker, this.#wanted[worker]!, this.#wanted[worker]!);
  }

  /** @returns whether the worker is an instance that was to be resized. */
  resized(worker: number): boolean {
    const wanted = this.#wanted[worker]!;
    if (this.#inForce[worker] === wanted || this.#inForce[worker] === 0) return false;
    this.#change(worker, wanted, wanted);
    return true;
  }

  /** The worker is an instance no more. @returns whether it was one that was up. */
  leave(worker: number): boolean {
    const wasUp = this.#inForce[worker]! > 0;
    this.#change(worker, 0, 0);
    this.#task[worker] = NONE;
    this.#wasLeaving[worker] = 0;
    return wasUp;
  }

  /**
   * Sets the cores of every instance that stays.
   * @param cores by task; 0 for a task without instances, whose leaving ones keep theirs.
   */
  resizeAll(cores: Uint32Array, fleet: ReplicaFleet, out: CommandBuffer): void {
    for (let worker = 0; worker < this.#wanted.length; worker++) {
      const task = fleet.task[worker]!;
      if (task === NONE || fleet.isLeaving[worker] === 1 || cores[task] === 0) continue;
      this.#resize(worker, cores[task]!, out);
    }
  }

  /**
   * Raises the cores of every instance that stays and has fewer.
   * @param cores by task.
   */
  raiseAll(cores: Uint32Array, fleet: ReplicaFleet, out: CommandBuffer): void {
    for (let worker = 0; worker < this.#wanted.length; worker++) {
      const task = fleet.task[worker]!;
      if (task === NONE || fleet.isLeaving[worker] === 1) continue;
      if (this.#wanted[worker]! < cores[task]!) this.#resize(worker, cores[task]!, out);
    }
  }

  /**
   * Updates the set of instances. An instance that was leaving and stays after all counts as new
   * and gets the cores of new ones.
   * @param startCores by task, for new instances.
   */
  follow(fleet: ReplicaFleet, startCores: Uint32Array, out: CommandBuffer): void {
    for (let worker = 0; worker < this.#wanted.length; worker++) {
      const task = fleet.task[worker]!;
      if (task === this.#task[worker] && (task === NONE || this.#wanted[worker] !== 0)) {
        const stays = this.#wasLeaving[worker] === 1 && fleet.isLeaving[worker] === 0;
        this.#wasLeaving[worker] = fleet.isLeaving[worker]!;
        if (!stays) continue;
        this.#isMixed[task] = 1;
        this.#resize(worker, startCores[task]!, out);
        continue;
      }
      this.leave(worker);
      if (task === NONE) continue;
      this.#task[worker] = task;
      this.#change(worker, 0, startCores[task]!);
    }
  }

  /**
   * [taskCount]: least cores in force of instances that are up and stay, 0 without any; valid until
   * the next call.
   */
  least(fleet: ReplicaFleet): Uint32Array {
    this.#least.fill(0);
    this.#isMixed.fill(0);
    for (let worker = 0; worker < this.#wanted.length; worker++) {
      const state = fleet.state[worker]!;
      if ((state !== IDLE && state !== BUSY) || fleet.isLeaving[worker] === 1) continue;
      const task = fleet.task[worker]!;
      const cores = this.#inForce[worker]!;
      const least = this.#least[task]!;
      if (least !== 0 && least !== cores) this.#isMixed[task] = 1;
      if (least === 0 || cores < least) this.#least[task] = cores;
    }
    return this.#least;
  }

  /**
   * Returns the idle instance of a task with the most cores in force; ties go to the lowest index.
   * Requires one.
   */
  mostOf(fleet: ReplicaFleet, task: number): number {
    let best = fleet.idle.lowest(task);
    if (this.#isMixed[task] === 0) return best;
    for (let worker = best + 1; worker < this.#wanted.length; worker++) {
      if (fleet.task[worker] !== task || fleet.state[worker] !== IDLE) continue;
      if (this.#inForce[worker]! > this.#inForce[best]!) best = worker;
    }
    return best;
  }

  #resize(worker: number, wanted: number, out: CommandBuffer): void {
    if (this.#wanted[worker] === wanted) return;
    this.#change(worker, this.#inForce[worker]!, wanted);
    out.resize(worker, wanted);
  }

  #change(worker: number, inForce: number, wanted: number): void {
    const task = this.#task[worker]!;
    if (task !== NONE) {
      const before = Math.max(this.#inForce[worker]!, this.#wanted[worker]!);
      this.heldByTask[task]! += Math.max(inForce, wanted) - before;
    }
    this.#inForce[worker] = inForce;
    this.#wanted[worker] = wanted;
  }
}
