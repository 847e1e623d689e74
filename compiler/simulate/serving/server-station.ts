/** The server's process: does one job at a time, in order of arrival. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { SpreadDraws } from "./spread-draws.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A request on its way to a decision. */
export const REQUEST = 0;
/**
 * A computed batch: the next batch of its worker is decided at once, before its results are taken
 * back. The hop to the worker and back, and the server's wake-up for it, are part of profiled
 * times.
 */
export const BATCH = 1;

interface StationTimes {
  readonly request: SpreadDraws;
  readonly batch: SpreadDraws;
  readonly answer: SpreadDraws;
  readonly wake: SpreadDraws;
}

/**
 * A queue with one server. The caller takes out finished jobs, and may then have it write answers,
 * which take their time before the next job begins.
 */
export class ServerStation {
  readonly #times: StationTimes;
  readonly #workers: WorkerEvents;
  #atMs = new Float64Array(256);
  #sentMs = new Float64Array(256);
  #kind = new Uint8Array(256);
  #id = new Uint32Array(256);
  #head = 0;
  #length = 0;
  /** Time when all that was taken out, including answers, is finished. */
  #freeMs = Number.NEGATIVE_INFINITY;
  /** Time when the first job is finished; NaN before it has begun. */
  #doneMs = Number.NaN;

  /** @param workers which contend with it. */
  constructor(times: StationTimes, workers: WorkerEvents) {
    this.#times = times;
    this.#workers = workers;
  }

  /** Time when the first job is finished; Infinity if the queue is empty. */
  get nextMs(): number {
    if (this.#length === 0) return Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.#doneMs)) this.#begin();
    return this.#doneMs;
  }

  /** Kind of the first job: `REQUEST` or `BATCH`. */
  get nextKind(): number {
    return this.#kind[this.#head] ?? 0;
  }

  /** Time when the client sent the first job, if that is a request. */
  get nextSentMs(): number {
    return this.#sentMs[this.#head] ?? Number.NaN;
  }

  /**
   * Adds a job, no earlier than the last one.
   * @param id of a request, or a worker.
   * @param sentMs when its client sent a request.
   */
  push(nowMs: number, kind: typeof REQUEST | typeof BATCH, id: number, sentMs = nowMs): void {
    if (this.#length === this.#atMs.length) this.#grow();
    const tail = (this.#head + this.#length) & (this.#atMs.length - 1);
    this.#atMs[tail] = nowMs;
    this.#sentMs[tail] = sentMs;
    this.#kind[tail] = kind;
    this.#id[tail] = id;
    this.#length++;
    if (this.#length === 1) this.#begin();
  }

  /**
   * Takes out the first job, which must exist.
   * @returns its id.
   */
  pop(): number {
    assert(this.#length > 0, "the queue is not empty");
    this.#freeMs = this.nextMs;
    if (this.nextKind === BATCH) this.#freeMs = this.#worked(this.#freeMs, this.#times.batch);
    const id = this.#id[this.#head] ?? 0;
    this.#head = (this.#head + 1) & (this.#atMs.length - 1);
    this.#length--;
    this.#doneMs = Number.NaN;
    return id;
  }

  /**
   * Writes an answer before the next job begins; after the current job if a timer and not the last
   * job is the cause.
   * @returns when it is written.
   */
  answer(nowMs: number): number {
    const isBusy = !Number.isNaN(this.#doneMs);
    const fromMs = Math.max(nowMs, isBusy ? this.#doneMs : this.#freeMs);
    const writtenMs = this.#worked(fromMs, this.#times.answer);
    if (isBusy) this.#doneMs = writtenMs;
    else this.#freeMs = writtenMs;
    return writtenMs;
  }

  #begin(): void {
    const atMs = this.#atMs[this.#head] ?? Number.NaN;
    const fromMs = Math.max(atMs, this.#freeMs);
    if (this.nextKind === BATCH) this.#doneMs = fromMs;
    else {
      const wakeMs = atMs > this.#freeMs ? this.#times.wake.nextMs() : 0;
      this.#doneMs = this.#worked(fromMs, this.#times.request, wakeMs);
    }
  }

  /**
   * @returns when work that begins at `fromMs` is finished.
   * @param beforeMs delay before it begins.
   */
  #worked(fromMs: number, times: SpreadDraws, beforeMs = 0): number {
    this.#workers.serveFrom(fromMs);
    const workMs = beforeMs + times.nextMs() * this.#workers.serverFactor;
    const untilMs = fromMs + this.#workers.takesMs(workMs);
    this.#workers.serveUntil(untilMs);
    return untilMs;
  }

  #grow(): void {
    const size = this.#atMs.length;
    const from = this.#head;
    this.#atMs = unrolled(this.#atMs, new Float64Array(2 * size), from);
    this.#sentMs = unrolled(this.#sentMs, new Float64Array(2 * size), from);
    this.#kind = unrolled(this.#kind, new Uint8Array(2 * size), from);
    this.#id = unrolled(this.#id, new Uint32Array(2 * size), from);
    this.#head = 0;
  }
}

/**
 * Copies a full ring in order.
 * @param to is twice as long, and returned.
 */
function unrolled<T extends Float64Array | Uint32Array | Uint8Array>(
  ring: T,
  to: T,
  head: number,
): T {
  to.set(ring.subarray(head));
  to.set(ring.subarray(0, head), ring.length - head);
  return to;
}
