/** A dispatcher whose workers are lost at a time, and missed some seconds later. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { CommandBuffer, DROP, START_BATCH } from "stratagem-runtime/internal/core/command-buffer";
import type { Dispatcher } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";

export interface Loss {
  /** Workers from the first on. */
  readonly workers: number;
  readonly atMs: number;
  /** Three missed heartbeats. */
  readonly missedAfterMs: number;
}

/**
 * A lost worker answers nothing: whoever sent it a batch learns so when it is missed, so it holds
 * one batch at most. The simulation counts those queries as served in time; `heldQueries` says how
 * many they are, and they are late.
 */
export class LossyCluster {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  /** Queries of batches that lost workers held. */
  heldQueries = 0;
  readonly #core: Dispatcher;
  readonly #loss: Loss;
  /** [workerCount]: queries of the batch that runs, 0 without. */
  readonly #running: Uint32Array;
  #isMissed = false;

  constructor(bundle: RamsisBundle, loss: Loss) {
    this.#core = dispatcherOf(bundle);
    this.#loss = loss;
    this.workerCount = this.#core.workerCount;
    this.waitingCapacity = this.#core.waitingCapacity;
    this.commandCapacity = this.#core.commandCapacity;
    this.#running = new Uint32Array(this.workerCount);
  }

  get wakeMs(): number {
    return this.#core.wakeMs;
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#miss(nowMs);
    this.#core.onArrival(query, deadlineMs, nowMs, out);
    this.#note(out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    if (worker < this.#loss.workers && nowMs >= this.#loss.atMs) {
      this.heldQueries += this.#running[worker] ?? 0;
      return;
    }
    this.#core.onBatchDone(worker, nowMs, out);
    this.#note(out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#core.onWake(nowMs, out);
    this.#note(out);
  }

  /** Heartbeats were missed: the workers are counted with no more. */
  #miss(nowMs: number): void {
    const { workers, atMs, missedAfterMs } = this.#loss;
    if (this.#isMissed || nowMs < atMs + missedAfterMs) return;
    this.#isMissed = true;
    const unheard = new CommandBuffer(this.commandCapacity, this.waitingCapacity);
    for (let worker = 0; worker < workers; worker++) {
      this.#core.onWorkerLost(worker, nowMs, unheard);
      if (unheard.count > 0) throw new Error("a loss starts and drops nothing");
    }
  }

  #note(out: CommandBuffer): void {
    for (let command = 0; command < out.count; command++) {
      if (out.kind(command) === DROP) continue;
      if (out.kind(command) === START_BATCH) {
        this.#running[out.worker(command)] = out.queryCount(command);
      }
    }
  }
}
