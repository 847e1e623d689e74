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
import { lackOf, type Means, meansOf, sharedCores, type WantedWorkers } from "./exec/means.ts";
import { fileBytesOf } from "./exec/variant-files.ts";
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

/** What the machine has, and what the workers of all bundles of a server want of it. */
export class SharedMeans {
  readonly #isChecked: boolean;
  readonly #meansOf: () => Means;
  readonly #wanted: WantedWorkers[] = [];
  readonly #policies: string[] = [];
  #means: Means | undefined;

  constructor({ meansCheck = true, means = meansOf }: WorkersOptions) {
    this.#isChecked = meansCheck;
    this.#meansOf = means;
  }

  /** As it was before the first worker was started: those that run must not count twice. */
  get means(): Means {
    this.#means ??= this.#meansOf();
    return this.#means;
  }

  /** What is to be said where the workers of all bundles share cores. */
  sharedCores(count: number, threads: number): string | null {
    return this.#isChecked ? sharedCores({ count, threads }, this.means) : null;
  }

  /**
   * Takes the part of a bundle's workers.
   * @param policy the bundle, as messages name it.
   * @throws RuntimeError RUNTIME_MEANS
   */
  take(policy: string, wanted: WantedWorkers): void {
    if (!this.#isChecked) return;
    this.#wanted.push(wanted);
    this.#policies.push(policy);
    const lack = lackOf(this.#wanted, this.means);
    if (lack === null) return;
    const policies = this.#policies.join(" and ");
    const remedy = "compile for fewer workers, or serve with --no-means-check";
    throw new RuntimeError("RUNTIME_MEANS", `${policies}: ${lack}; ${remedy}`);
  }
}

interface Told extends WorkersOptions {
  /** The bundle, as messages name it. */
  readonly policy: string;
  readonly shared: SharedMeans;
  readonly onNotice: Notice;
  /** Called when a worker failed at its start, for whatever reason. */
  readonly onStartFailed?: (reason: string) => void;
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
    const { policy, threads = 1, shared } = this.#options;
    shared.take(policy, { count, threads, modelBytes });
  }

  #executorOptions() {
    const { threads: threadsPerWorker = 1, device = "cpu", deviceIds = [] } = this.#options;
    const [variants, workerCount] = [this.#variants, this.#workerCount];
    return { variants, workerCount, threadsPerWorker, device, deviceIds };
  }

  #told<H extends ExecutorHandlers>(handlers: H): H & ProcessExecutorHandlers {
    const { onNotice, onStartFailed = () => {} } = this.#options;
    return {
      ...handlers,
      onStartFailed: (reason, retryMs) => {
        onNotice(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`, "warn");
        onStartFailed(reason);
      },
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

function fileBytes(variant: VariantModel): number {
  if (variant.remote !== undefined) return 0;
  return fileBytesOf(variant, (path) => statSync(path).size);
}
