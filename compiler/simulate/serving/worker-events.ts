/** Events of workers that contend for processors. */
import { EventQueue } from "../event-queue.ts";
import type { Contention } from "./contention.ts";
import type { MachinePaces } from "./machine-state.ts";
import type { NeighbourBursts } from "./neighbour-bursts.ts";
import { NO_WORKER, ProcessorQueues } from "./processor-queues.ts";
import type { SpreadDraws } from "./spread-draws.ts";
import type { Stalls } from "./stalls.ts";

/** Fractions of a processor, a power of two, so that sums are exact. */
export const DEMAND_PARTS = 16;
/** An idle worker sleeps after this time, ms. */
export const SLEEPS_AFTER_MS = 0.2;

/**
 * Ends of batches, which depend on how many run at once, and events of known times, such as the end
 * of a load. Each worker has at most one event. Without contention it is one event queue.
 */
export class WorkerEvents {
  readonly #timed: EventQueue;
  readonly #contention: Contention | null;
  /** Batches that contend; null if they do not. */
  readonly #shared: ProcessorQueues | null;
  /** The next change among them, if nothing else happens; NaN if it is not known. */
  #turnMs = Number.POSITIVE_INFINITY;
  readonly #wakes: SpreadDraws | null;
  readonly #idleSinceMs: Float64Array;
  readonly #stalls: Stalls | null;
  readonly #machine: MachinePaces | null;
  /** [workerCount]: when the worker's model started, and how long the last one ran. */
  readonly #beganMs: Float64Array;
  readonly #ranMs: Float64Array;
  /** [workerCount]: how long its wake-up takes. */
  readonly #wokeMs: Float64Array;

  /**
   * @param contention null if batches run as if they were alone.
   * @param wakes wake-up delay of a sleeping worker; null for none.
   * @param bursts of neighbours, if workers contend; null for none.
   * @param stalls of processors, if workers contend; null for none.
   * @param machine how much slower than profiled the workers are; null for as profiled.
   */
  constructor(
    workerCount: number,
    contention: Contention | null = null,
    wakes: SpreadDraws | null = null,
    bursts: NeighbourBursts | null = null,
    stalls: Stalls | null = null,
    machine: MachinePaces | null = null,
  ) {
    this.#machine = machine;
    this.#beganMs = new Float64Array(workerCount);
    this.#wokeMs = new Float64Array(workerCount);
    this.#ranMs = new Float64Array(workerCount).fill(Number.NaN);
    this.#timed = new EventQueue(workerCount);
    this.#contention = contention;
    this.#shared = contention && new ProcessorQueues(workerCount, contention, bursts);
    this.#wakes = wakes;
    this.#idleSinceMs = new Float64Array(workerCount).fill(Number.NEGATIVE_INFINITY);
    this.#stalls = stalls;
  }

  /** Whether the end of a batch is known when it begins. */
  get areForeknown(): boolean {
    return this.#contention === null && this.#machine === null;
  }

  /** Returns whether a worker runs a batch. */
  isRunning(worker: number): boolean {
    return this.#shared?.has(worker) ?? this.#timed.has(worker);
  }

  /** Returns how long the model of a worker's last batch ran; NaN before the first. */
  ranMs(worker: number): number {
    return this.#ranMs[worker] ?? Number.NaN;
  }

  get length(): number {
    return this.#timed.length + (this.#shared?.length ?? 0);
  }

  /** Time of the first event; Infinity without events. */
  get nextMs(): number {
    return Math.min(this.#timed.nextMs, this.#nextTurnMs());
  }

  /** Current slowdown of the server's work, which has a processor to itself. */
  get serverFactor(): number {
    const busy = this.#shared?.busy ?? 0;
    return this.#contention?.factorOf(Math.min(busy, this.#contention.processors)) ?? 1;
  }

  /** Slowdown of work on `demand` processors without other work, relative to one processor. */
  aloneFactor(demand: number): number {
    return demand === 1 || this.#contention === null ? 1 : this.#contention.factorOf(demand);
  }

  /** Duration of work, with the stalls that the host adds. */
  takesMs(workMs: number): number {
    return workMs + (this.#stalls?.duringMs(workMs) ?? 0);
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
    if (this.#shared === null) {
      this.#timed.push(nowMs + workMs, worker, rank);
      return;
    }
    this.#wokeMs[worker] = wakeMs;
    const aloneMs = this.takesMs(workMs / this.aloneFactor(demand));
    this.#shared.start(nowMs, worker, aloneMs, demand, rank);
    this.#turnMs = Number.NaN;
  }

  /**
   * Removes the first event, which must exist.
   * @returns its worker; NO_WORKER if a processor changed hands.
   */
  pop(): number {
    const timedMs = this.#timed.nextMs;
    const turnMs = this.#nextTurnMs();
    if (this.#shared === null || timedMs <= turnMs) return this.#popTimed(timedMs);
    const worker = this.#shared.turn();
    this.#turnMs = Number.NaN;
    if (worker === NO_WORKER) return worker;
    this.#ranMs[worker] = turnMs - this.#shared.ranFromMs(worker) - (this.#wokeMs[worker] ?? 0);
    this.#end(this.#shared, worker, turnMs);
    return worker;
  }

  cancel(worker: number, nowMs: number): void {
    this.#timed.cancel(worker);
    if (this.#shared?.has(worker)) this.#end(this.#shared, worker, nowMs);
  }

  /**
   * Marks the server as busy; the end of its work follows.
   * @param fromMs now, or the end of its current work.
   */
  serveFrom(fromMs: number): void {
    this.#turnMs = Number.NaN;
    this.#shared?.serveFrom(fromMs);
  }

  serveUntil(untilMs: number): void {
    this.#turnMs = Number.NaN;
    this.#shared?.serveUntil(untilMs);
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

  #end(shared: ProcessorQueues, worker: number, nowMs: number): void {
    shared.end(nowMs, worker);
    this.#idleSinceMs[worker] = nowMs;
    this.#turnMs = Number.NaN;
  }

  #nextTurnMs(): number {
    if (this.#shared === null) return Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.#turnMs)) this.#turnMs = this.#shared.nextMs;
    return this.#turnMs;
  }
}
