/** The executor over worker processes: their places, the standbys, and the replacement of those that are lost. */
import { assert } from "../core/assert.ts";
import {
  type Batch,
  type BatchResult,
  type Device,
  type Executor,
  type ExecutorHandlers,
  type ExecutorOptions,
  WorkerLostError,
} from "./executor.ts";
import { WorkerProcess } from "./worker-process.ts";

export type SettledDevice = Exclude<Device, "auto">;

/** A device that was tried for `auto`, and why the workers do not run on it. */
export interface RefusedDevice {
  readonly device: SettledDevice;
  readonly reason: string;
}

export interface ProcessExecutor extends Executor {
  /** What the workers run on. */
  readonly device: SettledDevice;
  /** What was tried before; empty unless the device was `auto`. */
  readonly refusedDevices: readonly RefusedDevice[];
  /** Process ids by worker place, undefined where a worker is missing, and those of the standbys. */
  pids(): {
    readonly places: readonly (number | undefined)[];
    readonly standbys: readonly number[];
  };
}

export interface ProcessExecutorHandlers extends ExecutorHandlers {
  /** A replacement did not start; without `willRetry` no other is tried. Left out, it becomes a warning of the process. */
  readonly onStartFailed?: (reason: string, willRetry: boolean) => void;
}

export interface RestartLimits {
  /** Failed starts in a row, without a worker getting ready, after which no other is tried. */
  readonly maxFailures: number;
  /** Wait after the first failed start; doubles with each further one. */
  readonly backoffMs: number;
}

const RESTART_LIMITS: RestartLimits = { maxFailures: 5, backoffMs: 500 };
/** The order in which `auto` tries devices. */
const AUTO_DEVICES: readonly SettledDevice[] = ["cuda", "webgpu", "cpu"];

/**
 * Starts the workers and waits until all of them are ready; `onReady` is called for each place just after the promise is kept.
 * @throws Error saying which variant and device failed, and why; no process is left behind.
 */
export async function startExecutor(
  options: ExecutorOptions,
  handlers: ProcessExecutorHandlers,
  limits: RestartLimits = RESTART_LIMITS,
): Promise<ProcessExecutor> {
  const { workerCount, standbyCount, device } = options;
  assert(workerCount > 0 && standbyCount >= 0, "an executor has at least one worker");
  if (device !== "auto") {
    const pool = new WorkerPool(options, handlers, limits, device, []);
    await pool.start(workerCount + standbyCount, false);
    return pool.open();
  }
  const refused: RefusedDevice[] = [];
  for (const candidate of AUTO_DEVICES) {
    const pool = new WorkerPool(options, handlers, limits, candidate, [...refused]);
    try {
      // One worker finds out what all would; a driver that crashes takes only that one along.
      await pool.start(1, candidate !== "cpu");
    } catch (error) {
      refused.push({ device: candidate, reason: messageOf(error) });
      continue;
    }
    await pool.start(workerCount + standbyCount - 1, false);
    return pool.open();
  }
  throw new Error(`no device runs the models. ${refused.map(({ reason }) => reason).join(". ")}`);
}

class WorkerPool implements ProcessExecutor {
  readonly device: SettledDevice;
  readonly refusedDevices: readonly RefusedDevice[];
  readonly #options: ExecutorOptions;
  readonly #handlers: ProcessExecutorHandlers;
  readonly #limits: RestartLimits;
  readonly #places: (WorkerProcess | null)[];
  readonly #standbys: WorkerProcess[] = [];
  readonly #starting = new Set<WorkerProcess>();
  /** Every process that has not ended. */
  readonly #alive = new Set<WorkerProcess>();
  /** Workers to be started in place of lost ones. */
  #missingCount = 0;
  #failuresInARow = 0;
  #retry: NodeJS.Timeout | null = null;
  #announced = false;
  #closing: Promise<void> | null = null;

  constructor(
    options: ExecutorOptions,
    handlers: ProcessExecutorHandlers,
    limits: RestartLimits,
    device: SettledDevice,
    refusedDevices: readonly RefusedDevice[],
  ) {
    this.#options = options;
    this.#handlers = handlers;
    this.#limits = limits;
    this.device = device;
    this.refusedDevices = refusedDevices;
    this.#places = new Array(options.workerCount).fill(null);
  }

  /** Starts `count` workers. @throws Error if one of them fails; all have ended then. */
  async start(count: number, trying: boolean): Promise<void> {
    try {
      await Promise.all(Array.from({ length: count }, () => this.#spawn(trying)));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Begins to call the handlers: deferred, so that the caller holds the executor by then. */
  open(): this {
    setImmediate(() => {
      this.#announced = true;
      for (const [place, worker] of this.#places.entries()) {
        if (worker !== null && this.#closing === null) this.#handlers.onReady(place);
      }
    });
    return this;
  }

  async run(place: number, batch: Batch): Promise<BatchResult> {
    const worker = this.#places[place];
    assert(worker !== undefined, "a batch goes to a place that exists");
    if (worker === null) throw new WorkerLostError(place, "its replacement is not ready");
    return worker.run(place, batch);
  }

  pids() {
    return {
      places: this.#places.map((worker) => worker?.pid),
      standbys: this.#standbys.map(({ pid }) => pid).filter((pid) => pid !== undefined),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#endAll();
    return this.#closing;
  }

  async #endAll(): Promise<void> {
    if (this.#retry !== null) clearTimeout(this.#retry);
    await Promise.all(Array.from(this.#alive, (worker) => worker.end("the executor was closed")));
  }

  /** Kept once the worker is ready. @throws Error if it ends before. */
  #spawn(trying: boolean): Promise<void> {
    const { variants, threadsPerWorker: threads } = this.#options;
    const setup = {
      variants,
      threads,
      device: this.device,
      deviceId: this.#leastUsedDeviceId(),
      trying,
    };
    return new Promise((resolve, reject) => {
      const worker = new WorkerProcess(setup, {
        onReady: (ready) => {
          this.#starting.delete(ready);
          this.#failuresInARow = 0;
          this.#admit(ready);
          resolve();
        },
        onEnd: (ended, reason) => {
          this.#alive.delete(ended);
          if (this.#starting.delete(ended)) reject(new Error(reason));
          else this.#onLost(ended, reason);
        },
      });
      this.#starting.add(worker);
      this.#alive.add(worker);
    });
  }

  /** Of the ids that workers are to be spread over, the one with the fewest; null without ids. */
  #leastUsedDeviceId(): number | null {
    const useCount = (id: number) =>
      Array.from(this.#alive).filter((worker) => worker.setup.deviceId === id).length;
    const ids = this.#options.deviceIds;
    const fewest = Math.min(...ids.map(useCount));
    return ids.find((id) => useCount(id) === fewest) ?? null;
  }

  /** Gives a worker the first place that is free, else the rank of a standby. */
  #admit(worker: WorkerProcess): void {
    const place = this.#places.indexOf(null);
    if (place < 0) {
      this.#standbys.push(worker);
    } else {
      this.#places[place] = worker;
      if (this.#announced) this.#handlers.onReady(place);
    }
    this.#refill();
  }

  #onLost(worker: WorkerProcess, reason: string): void {
    if (this.#closing !== null) return;
    const place = this.#places.indexOf(worker);
    if (place < 0) {
      const rank = this.#standbys.indexOf(worker);
      assert(rank >= 0, "a worker that was ready has a place or stands by");
      this.#standbys.splice(rank, 1);
    } else {
      this.#places[place] = null;
      if (this.#announced) this.#handlers.onLost(place, reason);
      const standby = this.#standbys.shift();
      if (standby !== undefined) this.#admit(standby);
    }
    this.#missingCount++;
    this.#refill();
  }

  /** Starts what is missing: all of it, or after a failure one worker at a time and ever later. */
  #refill(): void {
    const { maxFailures, backoffMs } = this.#limits;
    const failures = this.#failuresInARow;
    if (this.#closing !== null || this.#missingCount === 0 || failures >= maxFailures) return;
    if (failures === 0) {
      for (; this.#missingCount > 0; this.#missingCount--) this.#replace(failures);
    } else if (this.#starting.size === 0 && this.#retry === null) {
      this.#retry = setTimeout(
        () => {
          this.#retry = null;
          // Another worker may have got ready meanwhile, after which all that was missing was started.
          if (this.#missingCount === 0) return;
          this.#missingCount--;
          this.#replace(failures);
        },
        backoffMs * 2 ** (failures - 1),
      );
    }
  }

  #replace(failuresBefore: number): void {
    this.#spawn(false).catch((error: unknown) => {
      this.#missingCount++;
      if (this.#closing !== null) return;
      // Workers that were started together and failed together count as one failure.
      this.#failuresInARow = Math.max(this.#failuresInARow, failuresBefore + 1);
      this.#reportFailedStart(messageOf(error));
      this.#refill();
    });
  }

  #reportFailedStart(reason: string): void {
    const willRetry = this.#failuresInARow < this.#limits.maxFailures;
    const { onStartFailed } = this.#handlers;
    if (onStartFailed !== undefined) {
      onStartFailed(reason, willRetry);
    } else {
      const next = willRetry ? "another try follows" : "no other is tried";
      process.emitWarning(`a worker did not start: ${reason}; ${next}`);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
