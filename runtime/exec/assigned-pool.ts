/** The executor over worker processes that hold only the models they are assigned: places that fill and empty as plans follow one another. */
import { assert } from "../core/assert.ts";
import {
  type AssignedExecutor,
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  type ExecutorOptions,
  WorkerLostError,
} from "./executor.ts";
import type { WorkerSetup } from "./onnx-session.ts";
import { messageOf, Retries } from "./retries.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./worker-limits.ts";
import {
  AUTO_DEVICES,
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  type RefusedDevice,
  type SettledDevice,
} from "./worker-pool.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Models that a worker keeps loaded, so that it can go back to one at once. */
const KEPT_MODELS = 4;

export type AssignedProcessExecutor = AssignedExecutor & ProcessExecutor;
export type AssignedProcessHandlers = AssignedExecutorHandlers & ProcessExecutorHandlers;

/** As `ExecutorOptions`; there are no standbys, for they would have no model. */
export type AssignedExecutorOptions = Omit<ExecutorOptions, "standbyCount">;

/**
 * Finds out, with one worker that loads every variant and ends, whether the models run on the device. Then every place is ready; it has a
 * process from its first assignment until its release. One that ends by itself is lost, and ready again at once if it was healthy, else after a wait
 * that grows with every process in that row that was not.
 * @throws Error saying which variant and device failed, and why; no process is left behind.
 */
export async function startAssignedExecutor(
  options: AssignedExecutorOptions,
  handlers: AssignedProcessHandlers,
  limits: Partial<WorkerLimits> = {},
): Promise<AssignedProcessExecutor> {
  assert(options.workerCount > 0, "an executor has at least one worker");
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
  place: number,
): WorkerSetup {
  const deviceId = deviceIds[place % deviceIds.length] ?? null;
  return { variants, threads, device, deviceId, trying: false, keptModels: KEPT_MODELS };
}

/** Loads every variant once. @throws Error if one cannot be. */
function tryModels(
  options: AssignedExecutorOptions,
  device: SettledDevice,
  limits: WorkerLimits,
): Promise<void> {
  const variants = options.variants.map((variant) => ({ ...variant, warmBatches: [] }));
  const setup = { ...setupOf(options, device, 0), variants, trying: device !== "cpu" };
  return new Promise((resolve, reject) => {
    new WorkerProcess({ ...setup, keptModels: null }, limits, {
      onReady: (worker) => {
        worker.end("it was a trial").then(resolve, reject);
      },
      onEnd: (worker, reason) => {
        if (worker.stage === "starting") reject(new Error(reason));
      },
    });
  });
}

interface Place {
  /** Null while nothing is assigned, and after the process was lost. */
  process: WorkerProcess | null;
  isProcessReady: boolean;
  /** Variants that it is to hold; null while nothing is assigned. */
  assigned: readonly number[] | null;
  isRunning: boolean;
  /** Processes in a row that ended without being healthy. */
  failures: number;
}

class AssignedPool implements AssignedProcessExecutor {
  readonly device: SettledDevice;
  readonly refusedDevices: readonly RefusedDevice[];
  readonly #options: AssignedExecutorOptions;
  readonly #handlers: AssignedProcessHandlers;
  readonly #limits: WorkerLimits;
  readonly #places: readonly Place[];
  /** Every process that has not ended. */
  readonly #alive = new Set<WorkerProcess>();
  /** One for each place that is to be ready again later. */
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
    this.#limits = limits;
    this.#retries = new Retries(limits, handlers.onStartFailed);
    this.device = device;
    this.refusedDevices = refusedDevices;
    this.#places = Array.from({ length: options.workerCount }, () => ({
      process: null,
      isProcessReady: false,
      assigned: null,
      isRunning: false,
      failures: 0,
    }));
  }

  /** Begins to call the handlers: deferred, so that the caller holds the executor by then. */
  open(): this {
    setImmediate(() => {
      for (const place of this.#places.keys()) {
        if (this.#closing === null) this.#handlers.onReady(place);
      }
    });
    return this;
  }

  assign(index: number, variants: readonly number[]): void {
    if (this.#closing !== null) return;
    const place = this.#placeOf(index);
    place.assigned = variants;
    if (place.process === null) this.#spawn(index, place);
    else if (place.isProcessReady) this.#load(index, place, place.process, variants);
  }

  release(index: number): void {
    const place = this.#placeOf(index);
    place.assigned = null;
    if (!place.isRunning) this.#empty(place);
  }

  async run(index: number, batch: Batch): Promise<BatchResult> {
    const place = this.#placeOf(index);
    const { process } = place;
    if (process === null || !place.isProcessReady) {
      throw new WorkerLostError(index, "its replacement is not ready");
    }
    place.isRunning = true;
    try {
      return await process.run(index, batch);
    } finally {
      place.isRunning = false;
      // It was released while the batch ran.
      if (place.process === process && place.assigned === null) this.#empty(place);
    }
  }

  pids() {
    return { places: this.#places.map(({ process }) => process?.pid), standbys: [] };
  }

  close(): Promise<void> {
    this.#closing ??= this.#endAll();
    return this.#closing;
  }

  async #endAll(): Promise<void> {
    this.#retries.cancel();
    await Promise.all(Array.from(this.#alive, (worker) => worker.end("the executor was closed")));
  }

  #placeOf(index: number): Place {
    const place = this.#places[index];
    assert(place !== undefined, "a worker place exists");
    return place;
  }

  #spawn(index: number, place: Place): void {
    const setup = setupOf(this.#options, this.device, index);
    const worker = new WorkerProcess(setup, this.#limits, {
      onReady: () => {
        if (place.process !== worker || place.assigned === null) return;
        place.isProcessReady = true;
        this.#load(index, place, worker, place.assigned);
      },
      onEnd: (ended, reason) => {
        this.#alive.delete(ended);
        if (place.process === ended) this.#onLost(index, place, ended, reason);
      },
    });
    this.#alive.add(worker);
    place.process = worker;
    place.isProcessReady = false;
  }

  #load(index: number, place: Place, worker: WorkerProcess, variants: readonly number[]): void {
    worker.assign(variants).then(
      (loads) => {
        const isWanted = place.process === worker && place.assigned === variants;
        if (isWanted && this.#closing === null) this.#handlers.onModelReady(index, loads);
      },
      // The end of its process says the rest.
      () => {},
    );
  }

  #empty(place: Place): void {
    const { process } = place;
    place.process = null;
    place.isProcessReady = false;
    process?.end("the plan needs it no more").catch(() => {});
  }

  #onLost(index: number, place: Place, worker: WorkerProcess, reason: string): void {
    if (this.#closing !== null) return;
    place.process = null;
    place.isProcessReady = false;
    place.assigned = null;
    const isHealthy = worker.stage === "healthy";
    place.failures = isHealthy ? 0 : place.failures + 1;
    this.#handlers.onLost(index, reason);
    if (isHealthy) this.#announce(index);
    else this.#announceLater(index, place.failures, reason);
  }

  #announce(index: number): void {
    // Who was told of the loss may have closed the executor.
    if (this.#closing === null) this.#handlers.onReady(index);
  }

  #announceLater(index: number, failures: number, reason: string): void {
    if (this.#closing !== null) return;
    this.#retries.later(failures, reason, () => this.#announce(index));
  }
}
