/** Counts how large the batches of a dispatcher are, and how often it waits though it need not. */
import type { SimulatedDispatcher } from "stratagem/internal/methods/ramsis/simulate/peers/peer";
import { type CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";

/** A dispatcher that is watched. */
export class BatchCounts implements SimulatedDispatcher {
  /** By size. */
  readonly batches: number[] = [];
  /** Batches before which a worker was free while queries waited. */
  deferred = 0;
  readonly #inner: SimulatedDispatcher;
  #free: number;
  #waiting = 0;
  #isDeferring = false;

  constructor(inner: SimulatedDispatcher) {
    this.#inner = inner;
    this.#free = inner.workerCount;
  }

  get workerCount(): number {
    return this.#inner.workerCount;
  }

  get waitingCapacity(): number {
    return this.#inner.waitingCapacity;
  }

  get commandCapacity(): number {
    return this.#inner.commandCapacity;
  }

  get wakeMs(): number {
    return this.#inner.wakeMs;
  }

  onArrival(...args: Parameters<SimulatedDispatcher["onArrival"]>): void {
    this.#waiting++;
    this.#inner.onArrival(...args);
    this.#count(args[3]);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#free++;
    this.#inner.onBatchDone(worker, nowMs, out);
    this.#count(out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#inner.onWake(nowMs, out);
    this.#count(out);
  }

  /** Share of batches of at least and at most so many queries. */
  shareOf(least: number, most: number): number {
    const all = this.batches.reduce((total, count) => total + (count ?? 0), 0);
    const own = this.batches.slice(least, most + 1);
    return own.reduce((total, count) => total + (count ?? 0), 0) / all;
  }

  get deferredShare(): number {
    return this.deferred / this.batches.reduce((total, count) => total + (count ?? 0), 0);
  }

  get meanBatch(): number {
    const queries = this.batches.reduce((total, count, size) => total + size * (count ?? 0), 0);
    return queries / this.batches.reduce((total, count) => total + (count ?? 0), 0);
  }

  #count(out: CommandBuffer): void {
    for (let command = 0; command < out.count; command++) {
      const queries = out.queryCount(command);
      this.#waiting -= queries;
      if (out.kind(command) === DROP) continue;
      this.#free--;
      this.batches[queries] = (this.batches[queries] ?? 0) + 1;
      if (this.#isDeferring) this.deferred++;
    }
    this.#isDeferring = this.#free > 0 && this.#waiting > 0;
  }
}
