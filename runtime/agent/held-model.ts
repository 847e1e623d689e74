/** A model that an agent holds: a process of its own runs it, and is replaced when it ends. */
import { setImmediate } from "node:timers/promises";
import type { Notice } from "../base/notice.ts";
import { type Batch, type BatchResult, WorkerLostError } from "../exec/models/executor.ts";
import type { CpuFallback } from "../exec/models/model-facts.ts";
import { startGuarded } from "../exec/pool/guarded-executor.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  startExecutor,
} from "../exec/pool/worker-pool.ts";
import type { AgentModel } from "./agent-model.ts";
import type { DeviceChoice } from "./device-choice.ts";
import type { FoundModel } from "./model-folder.ts";

/** Options of the processes of all models. */
export interface HoldingOptions {
  readonly devices: DeviceChoice;
  /** Standby processes of each model. */
  readonly standby: number;
  /** Null for what the model needs. */
  readonly memoryBytes: number | null;
  readonly cpuFallback: CpuFallback;
  readonly onNotice: Notice;
  /** Called when the agent's document has changed. */
  readonly onChange: () => void;
}

export class HeldModel {
  readonly model: AgentModel;
  readonly cores: number;
  /** Number of processes that ended by themselves. */
  lossCount = 0;
  readonly #found: FoundModel;
  readonly #options: HoldingOptions;
  #executor: ProcessExecutor | null = null;
  #isReady = false;
  #runs = 0;
  /** Whether it takes no further batches. */
  #isLeaving = false;
  #onIdle: (() => void) | null = null;

  private constructor(found: FoundModel, cores: number, options: HoldingOptions) {
    this.model = found.model;
    this.cores = cores;
    this.#found = found;
    this.#options = options;
  }

  /**
   * Starts its process, and takes over the file.
   * @throws Error with the reason if it cannot be held; the file is then closed.
   */
  static async open(found: FoundModel, cores: number, options: HoldingOptions): Promise<HeldModel> {
    const held = new HeldModel(found, cores, options);
    try {
      await held.#start();
    } catch (error) {
      await found.close();
      throw error;
    }
    return held;
  }

  /** Whether its process can take a batch. */
  get isReady(): boolean {
    return this.#isReady && !this.#isLeaving;
  }

  /** Process id of the process that runs it. */
  get pid(): number | undefined {
    return this.#executor?.pids().slots[0];
  }

  /** @throws WorkerLostError, InferenceError, as `Executor.run`. */
  async run(batch: Batch, onComputed: () => void): Promise<BatchResult> {
    const executor = this.#executor;
    if (executor === null) throw new Error("a model runs batches once it is loaded");
    this.#runs++;
    try {
      return await executor.run(0, batch, onComputed);
    } catch (error) {
      // `onLost` follows in the next turn: only then is it known whether a process is left.
      if (error instanceof WorkerLostError) await setImmediate();
      throw error;
    } finally {
      this.#runs--;
      if (this.#runs === 0) this.#onIdle?.();
    }
  }

  /** Ends its process after its running batches; it takes no others. */
  async close(): Promise<void> {
    this.#isLeaving = true;
    if (this.#runs > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#executor?.close();
    await this.#found.close();
  }

  async #start(): Promise<void> {
    const { devices, standby, memoryBytes, cpuFallback, onNotice } = this.#options;
    const { name, variant } = this.model;
    const shared = { variants: [variant], workerCount: 1, standbyCount: standby };
    const guard = {
      poolBySlot: [0],
      nowMs: () => performance.now(),
      onNotice: (message: string) => onNotice(`${name}: ${message}`, "warn"),
    };
    const handlers: ProcessExecutorHandlers = {
      onReady: () => this.#setReady(true),
      onLost: (_worker, reason) => {
        this.lossCount++;
        this.#setReady(false);
        onNotice(`${name}: its process ended: ${reason}`, "warn");
      },
      onReplaced: (_worker, reason) => {
        this.lossCount++;
        onNotice(`${name}: its process ended, a standby replaced it: ${reason}`, "warn");
      },
      onStartFailed: (reason, retryMs) => {
        onNotice(`${name}: its process failed: ${reason}; retrying in ${retryMs} ms`, "warn");
      },
    };
    this.#executor = await devices.start((device, isTrial) => {
      const own = { threadsPerWorker: this.cores, devices: [device], cpuFallback, isTrial };
      return startGuarded({ ...shared, ...guard }, handlers, (guarded) => {
        return startExecutor({ ...shared, ...own }, guarded, { memoryBytes });
      });
    });
    this.#isReady = true;
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#options.onChange();
  }
}
