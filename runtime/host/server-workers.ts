/** Workers of a bundle: the devices that they start on, and their reports. */
import { statSync } from "node:fs";
import { RuntimeError } from "../base/errors.ts";
import { head, line, type MetricLine } from "../base/exposition.ts";
import type { Notice } from "../base/notice.ts";
import type { Pool, Provider } from "../bundle/schema.ts";
import { describeDevice } from "../devices/describe-device.ts";
import { onFirstProvider } from "../exec/limits/first-provider.ts";
import type {
  AssignedExecutorHandlers,
  ExecutorHandlers,
  VariantModel,
} from "../exec/models/executor.ts";
import type { CpuFallback } from "../exec/models/model-facts.ts";
import { fileBytesOf } from "../exec/models/variant-files.ts";
import { distinctDevices, type WorkerDevice } from "../exec/models/worker-device.ts";
import {
  type AssignedProcessExecutor,
  type AssignedProcessHandlers,
  startAssignedExecutor,
} from "../exec/pool/assigned-pool.ts";
import {
  type GuardOptions,
  startGuarded,
  startGuardedAssigned,
} from "../exec/pool/guarded-executor.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  startExecutor,
} from "../exec/pool/worker-pool.ts";
import type { WorkerStarter } from "../methods/method.ts";
import { type Elsewhere, type ElsewhereOptions, elsewhereOf } from "../remote/elsewhere.ts";
import {
  hardwareLines,
  hardwareNotices,
  otherHardware,
  type PoolHardware,
  poolHardware,
} from "./pool-hardware.ts";
import { type DeviceOptions, isAuto, poolBySlot, servingDevices } from "./serving-devices.ts";
import type { MeansOptions, SharedMeans } from "./shared-means.ts";
import { WorkerFacts } from "./worker-facts.ts";
import type { WorkersElsewhere } from "./workers-elsewhere.ts";

export interface WorkersOptions extends DeviceOptions, MeansOptions, ElsewhereOptions {
  /** Threads of a worker, for bundles that do not state its cores; default 1. */
  readonly threads?: number;
  /** Warm workers in reserve; default 1. */
  readonly standby?: number;
  /**
   * Private memory of each worker; by default what its models need, at least 4 GiB, on processors,
   * and no limit on accelerators.
   */
  readonly workerMemoryBytes?: number;
  /** Whether workers may run on other hardware than was measured; default no. */
  readonly acceptOtherHardware?: boolean;
  /** Whether models may have nodes that a GPU leaves to the processor; by default they may. */
  readonly cpuFallback?: CpuFallback;
}

interface BundleWorkersOptions extends WorkersOptions {
  /** The bundle, as messages name it. */
  readonly policy: string;
  readonly pools: readonly Pool[];
  /** Time per hop that the bundle was planned with. */
  readonly communicationLatencyMs: number;
  /** Clock of the batches' deadlines. */
  readonly nowMs: () => number;
  readonly shared: SharedMeans;
  readonly onNotice: Notice;
  /** Called when a worker failed at its start, for whatever reason. */
  readonly onStartFailed?: (reason: string) => void;
}

/** Starts the workers of a server, and remembers what they run on. */
export class Workers implements WorkerStarter {
  /** Device per slot; empty until the workers are started. */
  devices: readonly WorkerDevice[] = [];
  /** Hardware per pool, compared with what was measured; empty until the workers are started. */
  hardware: readonly PoolHardware[] = [];
  #executor: ProcessExecutor | null = null;
  readonly #options: BundleWorkersOptions;
  readonly #variants: readonly VariantModel[];
  readonly #workerCount: number;
  readonly #facts: WorkerFacts;
  readonly #poolBySlot: readonly number[];
  readonly #runs: PoolRuns;
  /** Null if all workers are on this machine. */
  readonly #elsewhere: Elsewhere | null;
  /** Slots of this machine. */
  readonly #slotsHere: readonly number[];
  #remote: WorkersElsewhere | null = null;

  constructor(
    options: BundleWorkersOptions,
    variants: readonly VariantModel[],
    workerCount: number,
  ) {
    this.#options = options;
    this.#variants = variants;
    this.#workerCount = workerCount;
    this.#facts = new WorkerFacts(variants, options.onNotice);
    this.#poolBySlot = poolBySlot(options.pools, workerCount);
    this.#runs = new PoolRuns(options.pools.map(({ name }) => name));
    this.#elsewhere = elsewhereOf(options.pools, options);
    const isElsewhere = this.#elsewhere?.isElsewhere ?? [];
    this.#slotsHere = [...this.#poolBySlot.keys()].filter((slot) => {
      return isElsewhere[this.#poolBySlot[slot] ?? 0] !== true;
    });
  }

  /** Metrics of the workers' starts and models. */
  metricLines(): MetricLine[] {
    const hardware = hardwareLines(this.hardware);
    const hops = this.#remote?.metricLines() ?? [];
    return [...hardware, ...this.#runs.metricLines(), ...this.#facts.metricLines(), ...hops];
  }

  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE, RUNTIME_MEANS */
  async start(handlers: ExecutorHandlers): Promise<ProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const bytes = this.#variants.reduce((sum, variant) => sum + fileBytes(variant), 0);
    this.#checkMeans(standbyCount, bytes);
    const executorHandlers = this.#handlersFor(handlers);
    return this.#startOn(async (devices) => {
      const options = { ...this.#executorOptions(), devices, standbyCount, isTrial: this.#isAuto };
      const start = (own: ProcessExecutorHandlers) => startExecutor(options, own, this.#limits());
      const remote = await this.#openRemote();
      return startGuarded(this.#guardOptions(), executorHandlers, (own) => {
        return remote === null ? start(own) : remote.start({ slots: this.#slotsHere, start }, own);
      });
    });
  }

  /**
   * Starts workers that hold assigned models only. @throws RuntimeError RUNTIME_DEVICE,
   * RUNTIME_MEANS
   */
  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const largest = Math.max(...this.#variants.map(fileBytes));
    this.#checkMeans(standbyCount, largest);
    const executorHandlers = this.#handlersFor(handlers);
    return this.#startOn(async (devices) => {
      const options = { ...this.#executorOptions(), devices, standbyCount };
      const start = (own: AssignedProcessHandlers) => {
        return startAssignedExecutor(options, own, this.#limits());
      };
      const remote = await this.#openRemote();
      return startGuardedAssigned(this.#guardOptions(), executorHandlers, (own) => {
        return remote === null
          ? start(own)
          : remote.startAssigned({ slots: this.#slotsHere, start }, own);
      });
    });
  }

  /** Slots of this machine. */
  get countHere(): number {
    return this.#slotsHere.length;
  }

  /** Process ids by slot, undefined where a worker is missing; empty until they are started. */
  pids(): readonly (number | undefined)[] {
    return this.#executor?.pids().slots ?? [];
  }

  #guardOptions(): GuardOptions {
    const { nowMs, onNotice } = this.#options;
    const [variants, poolBySlot] = [this.#variants, this.#poolBySlot];
    const workerCount = this.#workerCount;
    return {
      ...{ variants, workerCount, poolBySlot, nowMs },
      onNotice: (message) => onNotice(message, "warn"),
    };
  }

  #limits() {
    return { memoryBytes: this.#options.workerMemoryBytes ?? null };
  }

  /**
   * @param standbyCount on each device. @param modelBytes that one worker holds at least.
   * @throws RuntimeError RUNTIME_MEANS
   */
  #checkMeans(standbyCount: number, modelBytes: number): void {
    const { policy, threads = 1, shared } = this.#options;
    const devices = this.#devicesHere();
    const count = devices.length + standbyCount * distinctDevices(devices).length;
    if (count === 0) return;
    shared.take(policy, { count, threads, modelBytes });
  }

  #executorOptions() {
    const { threads: threadsPerWorker = 1, cpuFallback = "allow" } = this.#options;
    const [variants, workerCount] = [this.#variants, this.#slotsHere.length];
    const pools = this.#slotsHere.map((slot) => this.#poolBySlot[slot] ?? 0);
    return { variants, workerCount, threadsPerWorker, cpuFallback, pools };
  }

  /** Devices per slot of this machine. */
  #devicesHere(found?: Provider): WorkerDevice[] {
    const { pools } = this.#options;
    const devices = servingDevices(pools, this.#workerCount, this.#options, found);
    return devices.filter((_, slot) => this.#slotsHere.includes(slot));
  }

  /** Loads the client of remote workers only where some workers are remote. */
  async #openRemote(): Promise<WorkersElsewhere | null> {
    const elsewhere = this.#elsewhere;
    if (elsewhere === null) return null;
    const { WorkersElsewhere } = await import("./workers-elsewhere.ts");
    const { pools, threads = 1, communicationLatencyMs: hopMs } = this.#options;
    const [variants, poolBySlot] = [this.#variants, this.#poolBySlot];
    const poolNames = pools.map(({ name }) => name);
    const options = {
      ...this.#options,
      variants,
      threads,
      poolNames,
      poolBySlot,
      elsewhere,
      hopMs,
    };
    this.#remote = new WorkersElsewhere(options);
    return this.#remote;
  }

  #handlersFor<H extends ExecutorHandlers>(handlers: H): H & ProcessExecutorHandlers {
    const { onNotice, onStartFailed = () => {} } = this.#options;
    return {
      ...handlers,
      onModelFacts: (facts, { provider }) => this.#facts.onModelFacts(facts, provider),
      onRun: (slot, rows) => this.#runs.onRun(this.#poolBySlot[slot] ?? 0, rows),
      onStartFailed: (reason, retryMs) => {
        onNotice(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`, "warn");
        onStartFailed(reason);
      },
    };
  }

  /** Pools as far as their workers are of this machine. */
  #poolsHere(): Pool[] {
    const isElsewhere = this.#elsewhere?.isElsewhere ?? [];
    return this.#options.pools.filter((_, pool) => isElsewhere[pool] !== true);
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
    const { onNotice } = this.#options;
    const startWith = async (found?: Provider) => {
      const devices = this.#devicesHere(found);
      const hardware = await poolHardware(this.#poolsHere(), devices, describeDevice);
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

function fileBytes(variant: VariantModel): number {
  if (variant.remote !== undefined || variant.digest !== undefined) return 0;
  return fileBytesOf(variant, (path) => statSync(path).size);
}

class PoolRuns {
  readonly #names: readonly string[];
  readonly #rows: number[];

  /** @param names of the pools, in their order. */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#rows = names.map(() => 0);
  }

  /** @param pool by index. */
  onRun(pool: number, rows: number): void {
    this.#rows[pool] = (this.#rows[pool] ?? 0) + rows;
  }

  metricLines(): MetricLine[] {
    const name = "stratagem_pool_rows_total";
    return [
      head(name, "counter", "Rows of the batches given to a pool's workers"),
      ...this.#names.map((pool, index) => line(name, { pool }, this.#rows[index] ?? 0)),
    ];
  }
}
