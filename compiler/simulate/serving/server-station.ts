/** The server's process: it does one thing at a time, in the order in which things come. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { SpreadDraws } from "./spread-draws.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A request comes to its decision. */
export const REQUEST = 0;
/**
 * A batch is computed: what is next for its worker is decided at once, before its results are taken
 * back. The way there and back, and the server's waking for it, lie in the times of profiles.
 */
export const BATCH = 1;

interface StationTimes {
  readonly request: SpreadDraws;
  readonly batch: SpreadDraws;
  readonly answer: SpreadDraws;
  readonly wake: SpreadDraws;
}

/**
 * A queue with one server. Who drives it takes out what is done, and may have it write answers
 * then, which take their time before anything else begins.
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
  /** When it has done all that it took out, and what that brings with it. */
  #freeMs = Number.NEGATIVE_INFINITY;
  /** When the first is done; NaN before it has begun. */
  #doneMs = Number.NaN;

  /** @param workers which contend with it. */
  constructor(times: StationTimes, workers: WorkerEvents) {
    this.#times = times;
    this.#workers = workers;
  }

  /** When the first thing is done, Infinity when there is none. */
  get nextMs(): number {
    if (this.#length === 0) return Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.#doneMs)) this.#begin();
    return this.#doneMs;
  }

  /** What the first thing is: `REQUEST` or `BATCH`. */
  get nextKind(): number {
    return this.#kind[this.#head] ?? 0;
  }

  /** When its client sent what comes first, if that is a request. */
  get nextSentMs(): number {
    return this.#sentMs[this.#head] ?? Number.NaN;
  }

  /**
   * Something comes, no earlier than what came before.
   * @param id of a request, or a worker. @param sentMs when its client sent a request.
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

  /** Takes the first thing out; there is one. @returns whose it is. */
  pop(): number {
    assert(this.#length > 0, "something is done");
    this.#freeMs = this.nextMs;
    if (this.nextKind === BATCH) this.#freeMs = this.#worked(this.#freeMs, this.#times.batch);
    const id = this.#id[this.#head] ?? 0;
    this.#head = (this.#head + 1) & (this.#atMs.length - 1);
    this.#length--;
    this.#doneMs = Number.NaN;
    return id;
  }

  /**
   * Writes an answer before anything else begins; behind what is being done, if the clock and not
   * what was taken out last is the cause.
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

  /** @returns when work is done that begins then. @param beforeMs what passes until it begins. */
  #worked(fromMs: number, times: SpreadDraws, beforeMs = 0): number {
    this.#workers.serveFrom(fromMs);
    const workMs = beforeMs + times.nextMs() * this.#workers.serverFactor;
    const untilMs = fromMs + this.#workers.serverTakesMs(fromMs, workMs);
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

/** What stands in a full ring, in order. @param to is twice as long, and given back. */
function unrolled<T extends Float64Array | Uint32Array | Uint8Array>(
  ring: T,
  to: T,
  head: number,
): T {
  to.set(ring.subarray(head));
  to.set(ring.subarray(0, head), ring.length - head);
  return to;
}
