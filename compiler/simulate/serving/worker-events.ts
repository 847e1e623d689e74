/** Events of workers that contend for processors. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { EventQueue } from "../event-queue.ts";
import type { Contention } from "./contention.ts";
import type { MachinePaces } from "./machine-state.ts";
import type { SlowTimes } from "./slow-times.ts";
import type { SpreadDraws } from "./spread-draws.ts";
import type { Stalls } from "./stalls.ts";

/** Fractions of a processor, a power of two, so that sums are exact. */
export const DEMAND_PARTS = 16;
/** An idle worker sleeps after this time, ms. */
export const SLEEPS_AFTER_MS = 0.2;

/**
 * Ends of batches, which depend on how many run at once, and events of known times, such as the end
 * of a load. Each worker has at most one event.
 *
 * All batches progress at the same pace, 1 / factor, so they are ordered by the work of a batch
 * that had run from the beginning: a virtual clock, on which each has a fixed end time. Source:
 * Parekh and Gallager, "A generalized processor sharing approach to flow control", IEEE/ACM ToN
 * 1(3), 1993. Without contention the virtual clock is the clock, and all of this is one event
 * queue.
 */
export class WorkerEvents {
  readonly #timed: EventQueue;
  /** Ordered by the virtual clock; the same queue as `#timed` without contention. */
  readonly #batches: EventQueue;
  readonly #contention: Contention | null;
  readonly #wakes: SpreadDraws | null;
  readonly #idleSinceMs: Float64Array;
  /** [workerCount]: processors that its batch keeps busy; 0 if it runs none. */
  readonly #demand: Float64Array;
  readonly #neighbours: number;
  readonly #stalls: Stalls | null;
  /** [workerCount + 1]: of each worker, and of the server; empty if all keep their pace. */
  readonly #paces: readonly SlowTimes[];
  readonly #machine: MachinePaces | null;
  /** [workerCount]: when the worker's model started, and how long the last one ran. */
  readonly #beganMs: Float64Array;
  readonly #ranMs: Float64Array;
  /** Factor by the number of busy fractions of processors, without the server and with it. */
  readonly #factorByBusy: number[] = [];
  #busy = 0;
  /** End of the server's work; in the past if it is idle. */
  #serverUntilMs = Number.NEGATIVE_INFINITY;
  #isServerBusy = false;
  #factor = 1;
  #nowMs = 0;
  #virtualMs = 0;

  /**
   * @param contention null if batches run as if they were alone.
   * @param wakes wake-up delay of a sleeping worker; null for none.
   * @param neighbours processors that others keep busy all the time.
   * @param stalls of processors, if workers contend; null for none.
   * @param paces of each worker, and of the server; empty if processors keep their pace.
   * @param machine how much slower than profiled the workers are; null for as profiled.
   */
  constructor(
    workerCount: number,
    contention: Contention | null = null,
    wakes: SpreadDraws | null = null,
    neighbours = 0,
    stalls: Stalls | null = null,
    paces: readonly SlowTimes[] = [],
    machine: MachinePaces | null = null,
  ) {
    this.#machine = machine;
    this.#beganMs = new Float64Array(workerCount);
    this.#ranMs = new Float64Array(workerCount).fill(Number.NaN);
    this.#timed = new EventQueue(workerCount);
    this.#batches = contention === null ? this.#timed : new EventQueue(workerCount);
    this.#contention = contention;
    this.#wakes = wakes;
    this.#idleSinceMs = new Float64Array(workerCount).fill(Number.NEGATIVE_INFINITY);
    this.#demand = new Float64Array(workerCount);
    this.#neighbours = neighbours;
    this.#stalls = stalls;
    this.#paces = paces;
    this.#setFactor();
  }

  /** Whether the end of a batch is known when it begins. */
  get areForeknown(): boolean {
    return this.#contention === null && this.#machine === null;
  }

  /** Returns whether a worker runs a batch. */
  isRunning(worker: number): boolean {
    return this.#batches.has(worker);
  }

  /** Returns how long the model of a worker's last batch ran; NaN before the first. */
  ranMs(worker: number): number {
    return this.#ranMs[worker] ?? Number.NaN;
  }

  get length(): number {
    return this.#timed.length + (this.#contention === null ? 0 : this.#batches.length);
  }

  /** Time of the first event; Infinity without events. */
  get nextMs(): number {
    if (this.#contention === null) return this.#timed.nextMs;
    return Math.min(this.#timed.nextMs, this.#nextBatchMs());
  }

  /** Current slowdown of the server's work. */
  get serverFactor(): number {
    return this.#contention?.serverFactorOf(this.#busy + 1 + this.#neighbours) ?? 1;
  }

  /** Slowdown of work on `demand` processors without other work, relative to one processor. */
  aloneFactor(demand: number): number {
    return demand === 1 || this.#contention === null ? 1 : this.#contention.factorOf(demand);
  }

  /** Duration of the server's work that begins at `fromMs`, on a processor of the host. */
  serverTakesMs(fromMs: number, workMs: number): number {
    return this.#takesMs(this.#demand.length, fromMs, workMs);
  }

  /**
   * Adds an event at a known time.
   * @param rank as in `EventQueue`.
   */
  push(timeMs: number, worker: number, rank = 0): void {
    this.#timed.push(timeMs, worker, rank);
  }

  /**
   * Starts a batch on a worker.
   * @param serviceMs duration alone, on `demand` processors.
   * @param demand processors that it keeps busy, a multiple of 1 / `DEMAND_PARTS`.
   */
  run(nowMs: number, worker: number, serviceMs: number, rank = 0, demand = 1): void {
    const wakeMs = this.#wakeMs(nowMs, worker);
    this.#beganMs[worker] = nowMs + wakeMs;
    const modelMs = this.#machine?.takesMs(worker, nowMs + wakeMs, serviceMs) ?? serviceMs;
    const workMs = modelMs + wakeMs;
    if (this.#contention === null) {
      this.#timed.push(nowMs + workMs, worker, rank);
      return;
    }
    this.#advance(nowMs);
    this.#busy += demand;
    this.#demand[worker] = demand;
    this.#setFactor();
    const aloneMs = this.#takesMs(worker, nowMs, workMs / this.aloneFactor(demand));
    this.#batches.push(this.#virtualMs + aloneMs, worker, rank);
  }

  /**
   * Removes the first event, which must exist.
   * @returns its worker.
   */
  pop(): number {
    const timedMs = this.#timed.nextMs;
    if (this.#contention === null) return this.#popTimed(timedMs);
    const batchMs = this.#nextBatchMs();
    if (timedMs <= batchMs) return this.#popTimed(timedMs);
    const worker = this.#batches.pop();
    this.#ranMs[worker] = batchMs - (this.#beganMs[worker] ?? batchMs);
    this.#end(worker, batchMs);
    return worker;
  }

  cancel(worker: number, nowMs: number): void {
    this.#timed.cancel(worker);
    if (this.#demand[worker] === 0) return;
    this.#batches.cancel(worker);
    this.#end(worker, nowMs);
  }

  /**
   * Marks the server as busy; the end of its work follows.
   * @param fromMs now, or the end of its current work.
   */
  serveFrom(fromMs: number): void {
    if (this.#contention === null) return;
    if (!this.#isServerBusy || this.#serverUntilMs < fromMs) {
      this.#advance(fromMs);
      this.#isServerBusy = true;
      this.#setFactor();
    }
    this.#serverUntilMs = Number.POSITIVE_INFINITY;
  }

  serveUntil(untilMs: number): void {
    this.#serverUntilMs = untilMs;
  }

  /** Duration of work that the host slows down and stops now and then. */
  #takesMs(who: number, fromMs: number, workMs: number): number {
    const pacedMs = this.#paces[who]?.takesMs(fromMs, workMs) ?? workMs;
    return pacedMs + (this.#stalls?.duringMs(pacedMs) ?? 0);
  }

  #wakeMs(nowMs: number, worker: number): number {
    const wakes = this.#wakes;
    if (wakes === null) return 0;
    return nowMs - (this.#idleSinceMs[worker] ?? 0) > SLEEPS_AFTER_MS ? wakes.nextMs() : 0;
  }

  #popTimed(timedMs: number): number {
    const worker = this.#timed.pop();
    this.#idleSinceMs[worker] = timedMs;
    this.#ranMs[worker] = timedMs - (this.#beganMs[worker] ?? timedMs);
    return worker;
  }

  #end(worker: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#busy -= this.#demand[worker] ?? 0;
    this.#demand[worker] = 0;
    this.#idleSinceMs[worker] = nowMs;
    this.#setFactor();
  }

  /** Time when the first batch ends, if no other begins before. */
  #nextBatchMs(): number {
    const virtualMs = this.#batches.nextMs;
    if (virtualMs === Number.POSITIVE_INFINITY) return virtualMs;
    const workMs = Math.max(0, virtualMs - this.#virtualMs) * this.#factor;
    const endMs = this.#nowMs + workMs;
    if (!this.#isServerBusy || endMs <= this.#serverUntilMs) return endMs;
    const untilMs = Math.max(this.#nowMs, this.#serverUntilMs);
    const leftMs = virtualMs - this.#virtualMs - (untilMs - this.#nowMs) / this.#factor;
    return untilMs + Math.max(0, leftMs) * this.#factorWith(0);
  }

  /** Advances the clocks to now. */
  #advance(nowMs: number): void {
    assert(nowMs >= this.#nowMs, "time does not go back");
    if (this.#isServerBusy && this.#serverUntilMs <= nowMs) {
      this.#step(Math.max(this.#nowMs, this.#serverUntilMs));
      this.#isServerBusy = false;
      this.#setFactor();
    }
    this.#step(nowMs);
  }

  #step(nowMs: number): void {
    this.#virtualMs += (nowMs - this.#nowMs) / this.#factor;
    this.#nowMs = nowMs;
  }

  #setFactor(): void {
    this.#factor = this.#factorWith(this.#isServerBusy ? 1 : 0);
  }

  #factorWith(server: number): number {
    const index = 2 * this.#busy * DEMAND_PARTS + server;
    const known = this.#factorByBusy[index];
    if (known !== undefined) return known;
    const busy = this.#busy + server + this.#neighbours;
    const contention = this.#contention;
    const factor = server === 0 ? contention?.factorOf(busy) : contention?.besideServerOf(busy);
    this.#factorByBusy[index] = factor ?? 1;
    return factor ?? 1;
  }
}
