/**
 * The executor over worker processes that hold only the models they are assigned: slots that fill
 * and empty as plans follow one another.
 */
import { assert } from "../../core/assert.ts";
import { Retries } from "../limits/retries.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../limits/worker-limits.ts";
import { WorkerPaces } from "../limits/worker-paces.ts";
import {
  type AssignedExecutor,
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  type ExecutorOptions,
  type OnComputed,
  type VariantModel,
  warmCoresOf,
} from "../models/executor.ts";
import type { LossCause } from "../models/scaler.ts";
import { isCoreCount } from "../models/scaler.ts";
import { deviceKey, distinctDevices, type WorkerDevice } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { WorkerProcess } from "../process/worker-process.ts";
import { SpareWorkers } from "./spare-workers.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "./worker-pool.ts";
import { WorkerSlot, type WorkerSlotListener } from "./worker-slot.ts";

/** Models that a worker keeps loaded, so that it can go back to one at once. */
const KEPT_MODELS = 4;

export type AssignedProcessExecutor = AssignedExecutor & ProcessExecutor;
export type AssignedProcessHandlers = AssignedExecutorHandlers & ProcessExecutorHandlers;

type SharedOptions = Omit<ExecutorOptions, "standbyCount" | "isTrial">;

export interface AssignedExecutorOptions extends SharedOptions {
  /** Workers in reserve on each device, which hold what was assigned; default 0. */
  readonly standbyCount?: number;
}

/**
 * Checks, with one worker that loads every variant and ends, whether the models run on each of the
 * devices. Then every slot is ready; it has a process from its first assignment until its release.
 * A process that ends by itself is lost; its slot is ready again at once if it was healthy,
 * otherwise after a wait that grows with each consecutive unhealthy process.
 * @throws Error saying which variant and device failed, and why; no process is left behind.
 */
export async function startAssignedExecutor(
  options: AssignedExecutorOptions,
  handlers: AssignedProcessHandlers,
  limits: Partial<WorkerLimits> = {},
): Promise<AssignedProcessExecutor> {
  assert(options.workerCount > 0, "an executor has at least one worker");
  for (const variant of options.variants) {
    const isEach = warmCoresOf(variant, options.threadsPerWorker).every(isCoreCount);
    assert(isEach, "a worker keeps warm for whole numbers of cores, at least one");
  }
  const allLimits = { ...WORKER_LIMITS, ...limits };
  const { devices, workerCount } = options;
  assert(devices.length === workerCount, "each worker has a device");
  for (const device of distinctDevices(devices)) {
    await tryModels(options, device, handlers, allLimits);
  }
  return new AssignedPool(options, handlers, allLimits).open();
}

function setupOf(
  { variants, threadsPerWorker: threads, cpuFallback = "allow" }: AssignedExecutorOptions,
  on: WorkerDevice,
): WorkerSetup {
  // A session for each core count is a copy of the weights, and elsewhere than on processors
  // threads hardly matter.
  const isOnCores = on.provider === "cpu";
  const held = isOnCores ? variants : variants.map((one) => ({ ...one, warmCores: [] }));
  return { variants: held, threads, on, trying: false, keptModels: KEPT_MODELS, cpuFallback };
}

/** Whether some plan has it on the device. */
function isPlacedOn(
  { pools }: VariantModel,
  device: WorkerDevice,
  { devices, pools: poolBySlot = [] }: AssignedExecutorOptions,
): boolean {
  if (pools === undefined) return true;
  return devices.some((own, slot) => {
    return deviceKey(own) === deviceKey(device) && pools.includes(poolBySlot[slot] ?? 0);
  });
}

/** Loads every variant that plans have on the device once. @throws Error if one cannot be. */
function tryModels(
  options: AssignedExecutorOptions,
  on: WorkerDevice,
  { onModelFacts }: AssignedProcessHandlers,
  limits: WorkerLimits,
): Promise<void> {
  const untried = { warmBatches: [], largestBatch: 0, warmCores: [] };
  const placed = [...options.variants.entries()].filter(([, variant]) => {
    return isPlacedOn(variant, on, options);
  });
  const variants = placed.map(([, variant]) => ({ ...variant, ...untried }));
  const setup = { ...setupOf(options, on), variants, trying: on.provider !== "cpu" };
  return new Promise((resolve, reject) => {
    new WorkerProcess({ ...setup, keptModels: null }, limits, {
      onReady: (worker) => {
        worker.end("it was a trial").then(resolve, reject);
      },
      onFacts: (facts, device) => {
        const [variant = 0] = placed[facts.variant] ?? [];
        onModelFacts?.({ ...facts, variant }, device);
      },
      onEnd: (worker, reason) => {
        if (worker.phase === "starting") reject(new Error(reason));
      },
    });
  });
}

class AssignedPool implements AssignedProcessExecutor {
  readonly #options: AssignedExecutorOptions;
  readonly #handlers: AssignedProcessHandlers;
  readonly #slots: readonly WorkerSlot[];
  /** Spares per device key. */
  readonly #spares = new Map<string, SpareWorkers>();
  /** Consecutive processes per slot that ended before they were healthy. */
  readonly #failures: number[];
  /** Pending retries, one for each slot that will be ready again later. */
  readonly #retries: Retries;
  #closing: Promise<void> | null = null;

  constructor(
    options: AssignedExecutorOptions,
    handlers: AssignedProcessHandlers,
    limits: WorkerLimits,
  ) {
    this.#options = options;
    this.#handlers = handlers;
    this.#retries = new Retries(limits, handlers.onStartFailed);
    this.#failures = new Array<number>(options.workerCount).fill(0);
    const { onStartFailed, onStarted, onModelFacts } = handlers;
    const listeners = { onStartFailed, onStarted, onFacts: onModelFacts };
    // Devices of one kind share their paces.
    const paces = new Map<string, WorkerPaces>();
    for (const device of distinctDevices(options.devices)) {
      const own = new WorkerPaces(limits);
      const setups = new Array(options.standbyCount ?? 0).fill(setupOf(options, device));
      const spares = { setups, mostHeld: KEPT_MODELS, limits, paces: own, ...listeners };
      this.#spares.set(deviceKey(device), new SpareWorkers(spares));
      paces.set(deviceKey(device), own);
    }
    this.#slots = options.devices.map((device, slot) => {
      const setup = setupOf(options, device);
      const own = paces.get(deviceKey(device)) ?? new WorkerPaces(limits);
      const listener: WorkerSlotListener = {
        onModelReady: (loads) => handlers.onModelReady(slot, loads),
        onStarted,
        onFacts: onModelFacts,
        onResized: (cores) => handlers.onResized?.(slot, cores),
        onLost: (reason, isHealthy, cause) => this.#onLost(slot, reason, isHealthy, cause),
      };
      const takeSpare = () => this.#sparesOf(slot)?.take() ?? null;
      return new WorkerSlot(slot, setup, limits, own, listener, takeSpare);
    });
  }

  /** Begins to call the handlers: deferred, so that the caller holds the executor by then. */
  open(): this {
    setImmediate(() => {
      for (const slot of this.#slots.keys()) this.#announce(slot);
    });
    return this;
  }

  assign(slot: number, variants: readonly number[], cores?: number): void {
    const given = cores ?? this.#options.threadsPerWorker;
    this.#slotAt(slot).assign(variants, given);
    this.#sparesOf(slot)?.onAssigned(variants, given);
  }

  resize(slot: number, cores: number): void {
    this.#slotAt(slot).resize(cores);
  }

  release(slot: number): void {
    this.#slotAt(slot).release();
  }

  run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    this.#handlers.onRun?.(slot, batch.rows);
    return this.#slotAt(slot).run(batch, onComputed);
  }

  recycle(slot: number, reason: string): void {
    this.#slotAt(slot).recycle(reason);
  }

  pids() {
    const standbys = [...this.#spares.values()].flatMap((spares) => spares.pids);
    return { slots: this.#slots.map(({ pid }) => pid), standbys };
  }

  close(): Promise<void> {
    this.#closing ??= this.#endAll();
    return this.#closing;
  }

  async #endAll(): Promise<void> {
    this.#retries.cancel();
    const reason = "the executor was closed";
    const slots = this.#slots.map((slot) => slot.close(reason));
    const spares = Array.from(this.#spares.values(), (some) => some.close(reason));
    await Promise.all([...slots, ...spares]);
  }

  /** Workers in reserve that may take the place of the slot's. */
  #sparesOf(slot: number): SpareWorkers | undefined {
    const device = this.#options.devices[slot];
    return device === undefined ? undefined : this.#spares.get(deviceKey(device));
  }

  #slotAt(index: number): WorkerSlot {
    const slot = this.#slots[index];
    assert(slot !== undefined, "a worker slot exists");
    return slot;
  }

  #onLost(slot: number, reason: string, isHealthy: boolean, cause: LossCause): void {
    const failures = isHealthy ? 0 : (this.#failures[slot] ?? 0) + 1;
    this.#failures[slot] = failures;
    this.#handlers.onLost(slot, reason, cause);
    if (isHealthy) this.#announce(slot);
    // A listener may have closed the executor.
    else if (this.#closing === null) {
      this.#retries.later(failures, reason, () => this.#announce(slot));
    }
  }

  #announce(slot: number): void {
    if (this.#closing === null) this.#handlers.onReady(slot);
  }
}
