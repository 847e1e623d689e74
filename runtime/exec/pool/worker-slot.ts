/**
 * Worker slot that the executor fills and empties: its process, its assigned models, and the cores
 * of its batches.
 */
import { assert } from "../../core/assert.ts";
import type { WorkerLimits } from "../limits/worker-limits.ts";
import type { WorkerPaces } from "../limits/worker-paces.ts";
import {
  type Batch,
  type BatchResult,
  type OnComputed,
  WorkerLostError,
  warmCoresOf,
} from "../models/executor.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import type { LossCause } from "../models/scaler.ts";
import { isCoreCount } from "../models/scaler.ts";
import type { WorkerDevice } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { type WorkerListener, WorkerProcess } from "../process/worker-process.ts";
import type { TakenSpare } from "./spare-workers.ts";

/** Callbacks of a slot; never called from within a call of the slot, nor after it was closed. */
export interface WorkerSlotListener {
  readonly onModelReady: (loads: number) => void;
  readonly onStarted?: ((tookMs: number) => void) | undefined;
  readonly onFacts?: ((facts: ModelFacts, on: WorkerDevice) => void) | undefined;
  readonly onResized: (cores: number) => void;
  /**
   * Called when its process ended by itself, or hung; the slot then has no process and no
   * assignment.
   * @param isHealthy whether the process had been healthy.
   */
  readonly onLost: (reason: string, isHealthy: boolean, cause: LossCause) => void;
}

/** Variants that a worker must hold. */
interface Assignment {
  readonly variants: readonly number[];
}

/** Most recently requested cores, until they are in force. */
interface Resize {
  readonly cores: number;
}

export class WorkerSlot {
  readonly #index: number;
  readonly #setup: WorkerSetup;
  readonly #limits: WorkerLimits;
  readonly #paces: WorkerPaces;
  readonly #listener: WorkerSlotListener;
  readonly #takeSpare: () => TakenSpare | null;
  /** Null while nothing is assigned, and after it was lost. */
  #process: WorkerProcess | null = null;
  /** Every process that has not ended. */
  readonly #alive = new Set<WorkerProcess>();
  #isProcessReady = false;
  /** Null while nothing is assigned. */
  #assigned: Assignment | null = null;
  /** Cores of the next batch. */
  #cores: number;
  #resize: Resize | null = null;
  /** Core counts that the process holds, or is about to, beside the warm ones of its variants. */
  #extraCores: readonly number[] = [];
  /** Assignments that the process has not answered. */
  #openLoads = 0;
  /** Whether the process computes a batch. */
  #isComputing = false;
  /** Batches of the process that have no answer yet. */
  #openBatches = 0;
  #isClosed = false;

  constructor(
    index: number,
    setup: WorkerSetup,
    limits: WorkerLimits,
    paces: WorkerPaces,
    listener: WorkerSlotListener,
    takeSpare: () => TakenSpare | null = () => null,
  ) {
    this.#index = index;
    this.#setup = setup;
    this.#limits = limits;
    this.#paces = paces;
    this.#listener = listener;
    this.#takeSpare = takeSpare;
    this.#cores = setup.threads;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  assign(variants: readonly number[], cores: number): void {
    assert(isCoreCount(cores), "a worker has a whole number of cores, at least one");
    if (this.#isClosed) return;
    const assigned = { variants };
    this.#assigned = assigned;
    this.#cores = cores;
    this.#resize = null;
    if (this.#process === null) this.#begin(assigned);
    else if (this.#isProcessReady) this.#load(this.#process, assigned);
  }

  resize(cores: number): void {
    assert(isCoreCount(cores), "a worker has a whole number of cores, at least one");
    if (this.#isClosed || this.#assigned === null) return;
    this.#resize = { cores };
    this.#proceed();
  }

  release(): void {
    this.#assigned = null;
    this.#resize = null;
    if (this.#openBatches === 0) this.#empty();
  }

  /** @throws WorkerLostError, InferenceError as `Executor.run`. */
  async run(batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const process = this.#process;
    if (process === null || !this.#isProcessReady) {
      throw new WorkerLostError(this.#index, "its replacement is not ready");
    }
    this.#isComputing = true;
    this.#openBatches++;
    let isComputed = false;
    const noteComputed = () => {
      if (isComputed) return;
      isComputed = true;
      if (this.#process === process) this.#afterComputing();
    };
    try {
      return await process.run(this.#index, batch, this.#cores, (ranMs) => {
        noteComputed();
        onComputed?.(ranMs);
      });
    } finally {
      noteComputed();
      if (this.#process === process) this.#afterAnswer();
    }
  }

  /** Ends its process, which is then lost because of failing batches. */
  recycle(reason: string): void {
    this.#process?.retire(reason);
  }

  /** Ends every process of the slot. */
  async close(reason: string): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#alive, (worker) => worker.end(reason)));
  }

  /** Takes a spare, which may already hold what is assigned, or starts a process. */
  #begin(assigned: Assignment): void {
    const spare = this.#takeSpare();
    const listener: WorkerListener = {
      onFacts: (facts, on) => this.#listener.onFacts?.(facts, on),
      onReady: (ready) => {
        this.#listener.onStarted?.(ready.startMs);
        if (this.#process !== worker || this.#assigned === null) return;
        this.#isProcessReady = true;
        this.#load(worker, this.#assigned);
      },
      onLost: (lost, reason, cause) => {
        if (this.#process === lost) this.#lose(lost, reason, cause);
      },
      onEnd: (ended, reason) => {
        this.#alive.delete(ended);
        if (this.#process === ended) this.#lose(ended, reason, "ended");
      },
    };
    const worker =
      spare?.worker ?? new WorkerProcess(this.#setup, this.#limits, listener, this.#paces);
    this.#alive.add(worker);
    this.#process = worker;
    if (spare === null) return;
    spare.adopt(listener);
    this.#isProcessReady = true;
    this.#load(worker, assigned);
  }

  #load(worker: WorkerProcess, assigned: Assignment): void {
    this.#hold(worker, assigned, [this.#cores], (loads) => {
      if (this.#assigned === assigned) this.#listener.onModelReady(loads);
    });
  }

  #hold(
    worker: WorkerProcess,
    { variants }: Assignment,
    cores: readonly number[],
    onHeld: (loads: number) => void,
  ): void {
    this.#extraCores = cores;
    this.#openLoads++;
    worker.assign({ variants, cores }).then(
      (loads) => {
        if (this.#process !== worker || this.#isClosed) return;
        this.#openLoads--;
        onHeld(loads);
        this.#proceed();
      },
      // The end of its process reports the reason.
      () => {},
    );
  }

  /** It may have been resized while the batch was computed. */
  #afterComputing(): void {
    this.#isComputing = false;
    this.#proceed();
  }

  /** It may have been released while the batch ran: its process ends after its last answer. */
  #afterAnswer(): void {
    this.#openBatches--;
    if (this.#assigned === null && this.#openBatches === 0) this.#empty();
  }

  /**
   * Continues a resize as far as possible. It waits for the batch that is computed, but not for an
   * answer in transit, after which another batch may follow at once, and for models that are being
   * loaded. So only the last of several requests is loaded, because a load delays the next batch,
   * and a batch that hangs is not given the time of a load.
   */
  #proceed(): void {
    const process = this.#process;
    if (process === null || !process.isOpen || !this.#isProcessReady) return;
    if (this.#isComputing || this.#openLoads > 0) return;
    const [assigned, resize] = [this.#assigned, this.#resize];
    if (assigned === null || resize === null) return;
    const { cores } = resize;
    if (!this.#isHeld(assigned, cores)) {
      // Batches that are sent meanwhile name the cores of before.
      this.#hold(process, assigned, [this.#cores, cores], () => {});
      return;
    }
    this.#cores = cores;
    queueMicrotask(() => {
      if (this.#resize !== resize || this.#isClosed) return;
      this.#resize = null;
      this.#listener.onResized(cores);
    });
  }

  /** Whether the process has a session of that many cores for each of its variants. */
  #isHeld({ variants }: Assignment, cores: number): boolean {
    if (this.#extraCores.includes(cores)) return true;
    return variants.every((index) => {
      const variant = this.#setup.variants[index];
      assert(variant !== undefined, "a worker is assigned known variants only");
      return warmCoresOf(variant, this.#setup.threads).includes(cores);
    });
  }

  #empty(): void {
    const process = this.#process;
    this.#forgetProcess();
    process?.end("the plan needs it no more").catch(() => {});
  }

  #lose(worker: WorkerProcess, reason: string, cause: LossCause): void {
    if (this.#isClosed) return;
    this.#forgetProcess();
    this.#assigned = null;
    this.#resize = null;
    this.#listener.onLost(reason, worker.phase === "healthy", cause);
  }

  #forgetProcess(): void {
    this.#process = null;
    this.#isProcessReady = false;
    this.#extraCores = [];
    this.#openLoads = 0;
    this.#isComputing = false;
    this.#openBatches = 0;
  }
}
