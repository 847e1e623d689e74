/** The workers of a server: whether the machine has the means for them, and how they start. */

import { statSync } from "node:fs";
import { RuntimeError } from "./errors.ts";
import { type AssignedProcessExecutor, startAssignedExecutor } from "./exec/assigned-pool.ts";
import type {
  AssignedExecutorHandlers,
  Device,
  ExecutorHandlers,
  VariantModel,
} from "./exec/executor.ts";
import { lackOf, type Means, meansOf, sharedCores } from "./exec/means.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  type SettledDevice,
  startExecutor,
} from "./exec/worker-pool.ts";
import type { WorkerStarter } from "./methods/method.ts";
import type { Notice } from "./server/telemetry/notice.ts";

export interface WorkersOptions {
  /** What runs the models; left out for "cpu". */
  readonly device?: Device;
  /** Accelerators to spread workers over. */
  readonly deviceIds?: readonly number[];
  /** Threads of a worker, where the bundle does not say its cores; left out for one. */
  readonly threads?: number;
  /** Warm workers in reserve; left out for one. */
  readonly standby?: number;
  /** Whether workers that want more than this machine has are refused; left out for true. */
  readonly meansCheck?: boolean;
  /** What the machine has; left out, it is asked. */
  readonly means?: () => Means;
  /**
   * Memory that each worker may have of its own; left out for what its models need, at least 4 GiB,
   * on processors, and for no limit on accelerators.
   */
  readonly workerMemoryBytes?: number;
}

interface Told extends WorkersOptions {
  /** The bundle, as messages name it. */
  readonly policy: string;
  readonly onNotice: Notice;
}

/** Starts the workers of a server, and remembers what they run on. */
export class Workers implements WorkerStarter {
  device: SettledDevice = "cpu";
  readonly #options: Told;
  readonly #variants: readonly VariantModel[];
  readonly #workerCount: number;

  constructor(options: Told, variants: readonly VariantModel[], workerCount: number) {
    this.#options = options;
    this.#variants = variants;
    this.#workerCount = workerCount;
  }

  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE, RUNTIME_MEANS */
  async start(handlers: ExecutorHandlers): Promise<ProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const bytes = this.#variants.reduce((sum, variant) => sum + fileBytes(variant), 0);
    this.#checkMeans(this.#workerCount + standbyCount, bytes);
    const options = { ...this.#executorOptions(), standbyCount };
    return this.#settled(startExecutor(options, this.#told(handlers), this.#limits()));
  }

  /** On every worker what it is assigned. @throws RuntimeError RUNTIME_DEVICE, RUNTIME_MEANS */
  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const largest = Math.max(...this.#variants.map(fileBytes));
    this.#checkMeans(this.#workerCount + standbyCount, largest);
    const options = { ...this.#executorOptions(), standbyCount };
    return this.#settled(startAssignedExecutor(options, this.#told(handlers), this.#limits()));
  }

  #limits() {
    return { memoryBytes: this.#options.workerMemoryBytes ?? null };
  }

  /** @param modelBytes that one worker holds at least. @throws RuntimeError RUNTIME_MEANS */
  #checkMeans(count: number, modelBytes: number): void {
    const { policy, threads = 1, meansCheck = true, means = meansOf, onNotice } = this.#options;
    if (!meansCheck) return;
    const wanted = { count, threads, modelBytes };
    const found = means();
    const lack = lackOf(wanted, found);
    if (lack !== null) {
      throw new RuntimeError(
        "RUNTIME_MEANS",
        `${policy}: ${lack}; compile for fewer workers, or serve with --no-means-check`,
      );
    }
    const shared = sharedCores({ ...wanted, count: this.#workerCount }, found);
    if (shared !== null) onNotice(shared);
  }

  #executorOptions() {
    const { threads: threadsPerWorker = 1, device = "cpu", deviceIds = [] } = this.#options;
    const [variants, workerCount] = [this.#variants, this.#workerCount];
    return { variants, workerCount, threadsPerWorker, device, deviceIds };
  }

  #told<H extends ExecutorHandlers>(handlers: H): H & ProcessExecutorHandlers {
    const { onNotice } = this.#options;
    return {
      ...handlers,
      onStartFailed: (reason, retryMs) =>
        onNotice(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`, "warn"),
    };
  }

  async #settled<E extends ProcessExecutor>(start: Promise<E>): Promise<E> {
    try {
      const executor = await start;
      this.device = executor.device;
      return executor;
    } catch (error) {
      throw new RuntimeError("RUNTIME_DEVICE", error instanceof Error ? error.message : `${error}`);
    }
  }
}

function fileBytes({ opened, path }: VariantModel): number {
  return opened?.bytes ?? statSync(path).size;
}
