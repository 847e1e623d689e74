/** The server's process: it does one thing at a time, in the order in which things come. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { SpreadDraws } from "./spread-draws.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A request comes to its decision. */
export const REQUEST = 0;
/** A batch is taken back from its worker. */
export const BATCH = 1;

export interface StationTimes {
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
  #kind = new Uint8Array(256);
  #id = new Uint32Array(256);
  #head = 0;
  #length = 0;
  /** When it has done all that it took out. */
  #freeMs = 0;
  /** When the first is done; NaN before it has begun. */
  #doneMs = Number.NaN;
  #isBusy = false;

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

  /** Something comes, no earlier than what came before. @param id of a request, or a worker. */
  push(nowMs: number, kind: typeof REQUEST | typeof BATCH, id: number): void {
    if (this.#length === this.#atMs.length) this.#grow();
    const tail = (this.#head + this.#length) & (this.#atMs.length - 1);
    this.#atMs[tail] = nowMs;
    this.#kind[tail] = kind;
    this.#id[tail] = id;
    this.#length++;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#workers.addOthers(nowMs, 1);
  }

  /** Takes the first thing out; there is one. @returns whose it is. */
  pop(): number {
    const doneMs = this.nextMs;
    assert(this.#length > 0, "something is done");
    const id = this.#id[this.#head] ?? 0;
    this.#head = (this.#head + 1) & (this.#atMs.length - 1);
    this.#length--;
    this.#freeMs = doneMs;
    this.#doneMs = Number.NaN;
    if (this.#length === 0) {
      this.#isBusy = false;
      this.#workers.addOthers(doneMs, -1);
    }
    return id;
  }

  /** Writes an answer behind what was taken out last. @returns when it is written. */
  answer(nowMs: number): number {
    this.#freeMs =
      Math.max(nowMs, this.#freeMs) + this.#times.answer.nextMs() * this.#workers.factor;
    return this.#freeMs;
  }

  #begin(): void {
    const atMs = this.#atMs[this.#head] ?? Number.NaN;
    const { request, batch, wake } = this.#times;
    const own = this.nextKind === REQUEST ? request : batch;
    const wakeMs = atMs > this.#freeMs ? wake.nextMs() : 0;
    const workMs = own.nextMs() + wakeMs;
    this.#doneMs = Math.max(atMs, this.#freeMs) + workMs * this.#workers.factor;
  }

  #grow(): void {
    const size = this.#atMs.length;
    const order = Uint32Array.from({ length: size }, (_, at) => (this.#head + at) & (size - 1));
    const atMs = new Float64Array(2 * size);
    const kind = new Uint8Array(2 * size);
    const id = new Uint32Array(2 * size);
    for (const [to, from] of order.entries()) {
      atMs[to] = this.#atMs[from] ?? Number.NaN;
      kind[to] = this.#kind[from] ?? 0;
      id[to] = this.#id[from] ?? 0;
    }
    this.#atMs = atMs;
    this.#kind = kind;
    this.#id = id;
    this.#head = 0;
  }
}
