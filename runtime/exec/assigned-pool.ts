/**
 * The executor over worker processes that hold only the models they are assigned: slots that fill
 * and empty as plans follow one another.
 */
import { assert } from "../core/assert.ts";
import {
  type AssignedExecutor,
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  type ExecutorOptions,
  warmCoresOf,
} from "./executor.ts";
import type { WorkerSetup } from "./onnx-session.ts";
import { messageOf, Retries } from "./retries.ts";
import { isCoreCount } from "./scaler.ts";
import { SpareWorkers } from "./spare-workers.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./worker-limits.ts";
import { WorkerPaces } from "./worker-paces.ts";
import {
  AUTO_DEVICES,
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  type RefusedDevice,
  type SettledDevice,
} from "./worker-pool.ts";
import { WorkerProcess } from "./worker-process.ts";
import { WorkerSlot, type WorkerSlotListener } from "./worker-slot.ts";

/** Models that a worker keeps loaded, so that it can go back to one at once. */
const KEPT_MODELS = 4;

export type AssignedProcessExecutor = AssignedExecutor & ProcessExecutor;
export type AssignedProcessHandlers = AssignedExecutorHandlers & ProcessExecutorHandlers;

export interface AssignedExecutorOptions extends Omit<ExecutorOptions, "standbyCount"> {
  /** Workers in reserve, which hold what was assigned to others; left out for none. */
  readonly standbyCount?: number;
}

/**
 * Finds out, with one worker that loads every variant and ends, whether the models run on the
 * device. Then every slot is ready; it has a process from its first assignment until its release.
 * One that ends by itself is lost, and ready again at once if it was healthy, else after a wait
 * that grows with every process in that row that was not.
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
  const { device } = options;
  const refused: RefusedDevice[] = [];
  for (const candidate of device === "auto" ? AUTO_DEVICES : [device]) {
    try {
      await tryModels(options, candidate, allLimits);
      return new AssignedPool(options, handlers, allLimits, candidate, refused).open();
    } catch (error) {
      if (device !== "auto") throw error;
      refused.push({ device: candidate, reason: messageOf(error) });
    }
  }
  throw new Error(`no device runs the models. ${refused.map(({ reason }) => reason).join(". ")}`);
}

function setupOf(
  { variants, threadsPerWorker: threads, deviceIds }: AssignedExecutorOptions,
  device: SettledDevice,
  slot: number,
): WorkerSetup {
  const deviceId = deviceIds[slot % deviceIds.length] ?? null;
  // A session for each core count is a copy of the weights, and elsewhere than on processors
  // threads hardly matter.
  const held = device === "cpu" ? variants : variants.map((one) => ({ ...one, warmCores: [] }));
  return { variants: held, threads, device, deviceId, trying: false, keptModels: KEPT_MODELS };
}

/** Loads every variant once. @throws Error if one cannot be. */
function tryModels(
  options: AssignedExecutorOptions,
  device: SettledDevice,
  limits: WorkerLimits,
): Promise<void> {
  const untried = { warmBatches: [], warmCores: [] };
  const variants = options.variants.map((variant) => ({ ...variant, ...untried }));
  const setup = { ...setupOf(options, device, 0), variants, trying: device !== "cpu" };
  return new Promise((resolve, reject) => {
    new WorkerProcess({ ...setup, keptModels: null }, limits, {
      onReady: (worker) => {
        worker.end("it was a trial").then(resolve, reject);
      },
      onEnd: (worker, reason) => {
        if (worker.phase === "starting") reject(new Error(reason));
      },
    });
  });
}

class AssignedPool implements AssignedProcessExecutor {
  readonly device: SettledDevice;
  readonly refusedDevices: readonly RefusedDevice[];
  readonly #options: AssignedExecutorOptions;
  readonly #handlers: AssignedProcessHandlers;
  readonly #slots: readonly WorkerSlot[];
  readonly #spares: SpareWorkers;
  /** By slot the processes in a row that ended without being healthy. */
  readonly #failures: number[];
  /** One for each slot that is to be ready again later. */
  readonly #retries: Retries;
  #closing: Promise<void> | null = null;

  constructor(
    options: AssignedExecutorOptions,
    handlers: AssignedProcessHandlers,
    limits: WorkerLimits,
    device: SettledDevice,
    refusedDevices: readonly RefusedDevice[],
  ) {
    this.#options = options;
    this.#handlers = handlers;
    this.#retries = new Retries(limits, handlers.onStartFailed);
    this.device = device;
    this.refusedDevices = refusedDevices;
    this.#failures = new Array<number>(options.workerCount).fill(0);
    const paces = new WorkerPaces(limits);
    const spares = Array.from({ length: options.standbyCount ?? 0 }, (_, rank) => {
      return setupOf(options, device, rank);
    });
    const { onStartFailed } = handlers;
    this.#spares = new SpareWorkers({
      ...{ setups: spares, mostHeld: KEPT_MODELS, limits, paces, onStartFailed },
    });
    this.#slots = this.#failures.map((_, slot) => {
      const setup = setupOf(options, device, slot);
      const listener: WorkerSlotListener = {
        onModelReady: (loads) => handlers.onModelReady(slot, loads),
        onResized: (cores) => handlers.onResized?.(slot, cores),
        onLost: (reason, isHealthy, isHung) => this.#onLost(slot, reason, isHealthy, isHung),
      };
      const takeSpare = () => this.#spares.take(setup.deviceId);
      return new WorkerSlot(slot, setup, limits, paces, listener, takeSpare);
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
    this.#spares.onAssigned(variants, given);
  }

  resize(slot: number, cores: number): void {
    this.#slotAt(slot).resize(cores);
  }

  release(slot: number): void {
    this.#slotAt(slot).release();
  }

  run(slot: number, batch: Batch, onComputed?: () => void): Promise<BatchResult> {
    return this.#slotAt(slot).run(batch, onComputed);
  }

  pids() {
    return { slots: this.#slots.map(({ pid }) => pid), standbys: this.#spares.pids };
  }

  close(): Promise<void> {
    this.#closing ??= this.#endAll();
    return this.#closing;
  }

  async #endAll(): Promise<void> {
    this.#retries.cancel();
    const reason = "the executor was closed";
    const slots = this.#slots.map((slot) => slot.close(reason));
    await Promise.all([...slots, this.#spares.close(reason)]);
  }

  #slotAt(index: number): WorkerSlot {
    const slot = this.#slots[index];
    assert(slot !== undefined, "a worker slot exists");
    return slot;
  }

  #onLost(slot: number, reason: string, isHealthy: boolean, isHung: boolean): void {
    const failures = isHealthy ? 0 : (this.#failures[slot] ?? 0) + 1;
    this.#failures[slot] = failures;
    this.#handlers.onLost(slot, reason, isHung);
    if (isHealthy) this.#announce(slot);
    // Who was told of the loss may have closed the executor.
    else if (this.#closing === null) {
      this.#retries.later(failures, reason, () => this.#announce(slot));
    }
  }

  #announce(slot: number): void {
    if (this.#closing === null) this.#handlers.onReady(slot);
  }
}
