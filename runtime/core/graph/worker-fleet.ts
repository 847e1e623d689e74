/** Tracks the servers of a plan, what they hold and which group they serve. */
import type { PaceMonitor } from "../pace.ts";
import { NONE } from "./pipeline-shape.ts";

/**
 * States of a worker: down; up without a model that the plan knows; loading one; ready; running a
 * batch.
 */
export const DOWN = 0;
export const OFF = 1;
export const LOADING = 2;
export const IDLE = 3;
export const BUSY = 4;

/**
 * Workers, what they hold and which group they serve; the idle ones of each group form a stack,
 * with the latest on top.
 */
export class WorkerFleet {
  readonly state: Uint8Array;
  /** Variant that is held or being loaded, or NONE. */
  readonly model: Int32Array;
  /** Instance of the current plan that a worker is for, or NONE. */
  readonly target: Int32Array;
  /**
   * Group whose queries a ready worker takes, NONE unless ready. One that will leave helps out in a
   * group of its task until then.
   */
  readonly group: Int32Array;
  /** Largest batch. */
  readonly batch: Uint32Array;
  /** Ready workers by group and by task. */
  readonly readyByGroup: Uint32Array;
  readonly readyByTask: Uint32Array;
  loadingCount = 0;
  readonly #idle: Int32Array;
  readonly #below: Int32Array;
  readonly #above: Int32Array;

  constructor(workerCount: number, groupCount: number, taskCount: number) {
    this.state = new Uint8Array(workerCount);
    this.model = new Int32Array(workerCount).fill(NONE);
    this.target = new Int32Array(workerCount).fill(NONE);
    this.group = new Int32Array(workerCount).fill(NONE);
    this.batch = new Uint32Array(workerCount);
    this.readyByGroup = new Uint32Array(groupCount);
    this.readyByTask = new Uint32Array(taskCount);
    this.#idle = new Int32Array(groupCount).fill(NONE);
    this.#below = new Int32Array(workerCount).fill(NONE);
    this.#above = new Int32Array(workerCount).fill(NONE);
  }

  /** Returns an idle worker of a group, or NONE. */
  idleOf(group: number): number {
    return this.#idle[group]!;
  }

  /** The fastest of them; of equally fast ones the one that became idle last. */
  fastestIdleOf(group: number, paces: PaceMonitor): number {
    let fastest = this.#idle[group]!;
    if (paces.isEven || fastest === NONE) return fastest;
    for (let other = this.#below[fastest]!; other !== NONE; other = this.#below[other]!) {
      if (paces.meanPaceOf(other) < paces.meanPaceOf(fastest)) fastest = other;
    }
    return fastest;
  }

  /** A ready worker that serves no group takes the queries of one from now on. */
  join(worker: number, group: number, task: number): void {
    this.group[worker] = group;
    this.readyByGroup[group]!++;
    this.readyByTask[task]!++;
    if (this.state[worker] === IDLE) this.#push(worker);
  }

  /** The contrary, if it serves one. */
  leave(worker: number, task: number): void {
    const group = this.group[worker]!;
    if (group === NONE) return;
    if (this.state[worker] === IDLE) this.#remove(worker);
    this.readyByGroup[group]!--;
    this.readyByTask[task]!--;
    this.group[worker] = NONE;
  }

  start(worker: number): void {
    this.#remove(worker);
    this.state[worker] = BUSY;
  }

  finish(worker: number): void {
    this.state[worker] = IDLE;
    if (this.group[worker] !== NONE) this.#push(worker);
  }

  #push(worker: number): void {
    const group = this.group[worker]!;
    const top = this.#idle[group]!;
    this.#below[worker] = top;
    this.#above[worker] = NONE;
    if (top !== NONE) this.#above[top] = worker;
    this.#idle[group] = worker;
  }

  #remove(worker: number): void {
    const below = this.#below[worker]!;
    const above = this.#above[worker]!;
    if (above === NONE) this.#idle[this.group[worker]!] = below;
    else this.#below[above] = below;
    if (below !== NONE) this.#above[below] = above;
  }
}
