/** The workers of a server: whether the machine has the means for them, and how they start. */

import { statSync } from "node:fs";
import type { Pool, Provider } from "./bundle/schema.ts";
import { describeDevice } from "./devices/describe-device.ts";
import { RuntimeError } from "./errors.ts";
import { type AssignedProcessExecutor, startAssignedExecutor } from "./exec/assigned-pool.ts";
import type { AssignedExecutorHandlers, ExecutorHandlers, VariantModel } from "./exec/executor.ts";
import { onFirstProvider } from "./exec/first-provider.ts";
import { lackOf, type Means, meansOf, sharedCores, type WantedWorkers } from "./exec/means.ts";
import type { CpuFallback } from "./exec/model-facts.ts";
import { distinctDevices, type WorkerDevice } from "./exec/worker-device.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  startExecutor,
} from "./exec/worker-pool.ts";
import type { WorkerStarter } from "./methods/method.ts";
import {
  hardwareLines,
  hardwareNotices,
  otherHardware,
  type PoolHardware,
  poolHardware,
} from "./pool-hardware.ts";
import { PoolRuns } from "./pool-runs.ts";
import type { MetricLine } from "./server/metrics/exposition.ts";
import type { Notice } from "./server/telemetry/notice.ts";
import { type DeviceOptions, isAuto, servingDevices } from "./serving-devices.ts";
import { WorkerFacts } from "./worker-facts.ts";

export interface WorkersOptions extends DeviceOptions {
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
  /** Whether workers may run on other hardware than was measured; left out, they may not. */
  readonly acceptOtherHardware?: boolean;
  /** Whether models may have nodes that a GPU leaves to the processor; left out, they may. */
  readonly cpuFallback?: CpuFallback;
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
  readonly pools: readonly Pool[];
  readonly shared: SharedMeans;
  readonly onNotice: Notice;
  /** Called when a worker failed at its start, for whatever reason. */
  readonly onStartFailed?: (reason: string) => void;
}

/** Starts the workers of a server, and remembers what they run on. */
export class Workers implements WorkerStarter {
  /** By slot; empty until they are started. */
  devices: readonly WorkerDevice[] = [];
  /** What that is, and how it compares with what was measured; empty until they are started. */
  hardware: readonly PoolHardware[] = [];
  #executor: ProcessExecutor | null = null;
  readonly #options: Told;
  readonly #variants: readonly VariantModel[];
  readonly #workerCount: number;
  readonly #facts: WorkerFacts;
  readonly #poolBySlot: readonly number[];
  readonly #runs: PoolRuns;

  constructor(options: Told, variants: readonly VariantModel[], workerCount: number) {
    this.#options = options;
    this.#variants = variants;
    this.#workerCount = workerCount;
    this.#facts = new WorkerFacts(variants, options.onNotice);
    this.#poolBySlot = options.pools.flatMap(({ workers }, pool) => new Array(workers).fill(pool));
    this.#runs = new PoolRuns(options.pools.map(({ name }) => name));
  }

  /** What workers told of their start and their models. */
  metricLines(): MetricLine[] {
    const hardware = hardwareLines(this.hardware);
    return [...hardware, ...this.#runs.metricLines(), ...this.#facts.metricLines()];
  }

  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE, RUNTIME_MEANS */
  async start(handlers: ExecutorHandlers): Promise<ProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const bytes = this.#variants.reduce((sum, variant) => sum + fileBytes(variant), 0);
    this.#checkMeans(standbyCount, bytes);
    return this.#startOn((devices) => {
      const options = { ...this.#executorOptions(), devices, standbyCount, isTrial: this.#isAuto };
      return startExecutor(options, this.#told(handlers), this.#limits());
    });
  }

  /** On every worker what it is assigned. @throws RuntimeError RUNTIME_DEVICE, RUNTIME_MEANS */
  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const largest = Math.max(...this.#variants.map(fileBytes));
    this.#checkMeans(standbyCount, largest);
    return this.#startOn((devices) => {
      const options = { ...this.#executorOptions(), devices, standbyCount };
      return startAssignedExecutor(options, this.#told(handlers), this.#limits());
    });
  }

  /** Process ids by slot, undefined where a worker is missing; empty until they are started. */
  pids(): readonly (number | undefined)[] {
    return this.#executor?.pids().slots ?? [];
  }

  #limits() {
    return { memoryBytes: this.#options.workerMemoryBytes ?? null };
  }

  /**
   * @param standbyCount on each device. @param modelBytes that one worker holds at least.
   * @throws RuntimeError RUNTIME_MEANS
   */
  #checkMeans(standbyCount: number, modelBytes: number): void {
    const { policy, threads = 1, shared, pools } = this.#options;
    const devices = servingDevices(pools, this.#workerCount, this.#options);
    const count = this.#workerCount + standbyCount * distinctDevices(devices).length;
    shared.take(policy, { count, threads, modelBytes });
  }

  #executorOptions() {
    const { threads: threadsPerWorker = 1, cpuFallback = "allow" } = this.#options;
    const [variants, workerCount] = [this.#variants, this.#workerCount];
    return { variants, workerCount, threadsPerWorker, cpuFallback, pools: this.#poolBySlot };
  }

  #told<H extends ExecutorHandlers>(handlers: H): H & ProcessExecutorHandlers {
    const { onNotice, onStartFailed = () => {} } = this.#options;
    return {
      ...handlers,
      onModelFacts: (facts, { provider }) => this.#facts.onModelFacts(facts, provider),
      onStarted: (tookMs) => this.#facts.onStarted(tookMs),
      onRun: (slot, rows) => this.#runs.onRun(this.#poolBySlot[slot] ?? 0, rows),
      onStartFailed: (reason, retryMs) => {
        onNotice(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`, "warn");
        onStartFailed(reason);
      },
    };
  }

  /** @throws RuntimeError RUNTIME_HARDWARE */
  #expectMeasured(hardware: readonly PoolHardware[]): void {
    const { policy, acceptOtherHardware = false } = this.#options;
    const other = otherHardware(hardware);
    if (other === null || acceptOtherHardware) return;
    throw new RuntimeError("RUNTIME_HARDWARE", `${policy}: ${other}`);
  }

  get #isAuto(): boolean {
    return isAuto(this.#options);
  }

  async #startOn<E extends ProcessExecutor>(
    start: (devices: readonly WorkerDevice[]) => Promise<E>,
  ): Promise<E> {
    const { pools, onNotice } = this.#options;
    const startWith = async (found?: Provider) => {
      const devices = servingDevices(pools, this.#workerCount, this.#options, found);
      const hardware = await poolHardware(pools, devices, describeDevice);
      this.#expectMeasured(hardware);
      const executor = await start(devices);
      for (const notice of hardwareNotices(hardware)) onNotice(notice, "warn");
      this.devices = devices;
      this.hardware = hardware;
      this.#executor = executor;
      return executor;
    };
    try {
      if (!this.#isAuto) return await startWith();
      return await onFirstProvider(startWith, ({ provider, reason }) => {
        onNotice(`no worker runs on ${provider}: ${reason}`, "warn");
      });
    } catch (error) {
      if (error instanceof RuntimeError) throw error;
      throw new RuntimeError("RUNTIME_DEVICE", error instanceof Error ? error.message : `${error}`);
    }
  }
}

function fileBytes({ opened, path, remote }: VariantModel): number {
  if (remote !== undefined) return 0;
  return opened?.bytes ?? statSync(path).size;
}
