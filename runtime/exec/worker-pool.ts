/**
 * The executor over worker processes: their slots, the standbys, and the replacement of those that
 * are lost.
 */
import { availableParallelism } from "node:os";
import { assert } from "../core/assert.ts";
import { aFewAtATime } from "./a-few-at-a-time.ts";
import {
  type Batch,
  type BatchResult,
  type Device,
  type Executor,
  type ExecutorHandlers,
  type ExecutorOptions,
  WorkerLostError,
} from "./executor.ts";
import { messageOf, Retries } from "./retries.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./worker-limits.ts";
import { WorkerPaces } from "./worker-paces.ts";
import { type WorkerListener, WorkerProcess } from "./worker-process.ts";

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
  /** Process ids by worker slot, undefined where a worker is missing, and those of the standbys. */
  pids(): {
    readonly slots: readonly (number | undefined)[];
    readonly standbys: readonly number[];
  };
}

export interface ProcessExecutorHandlers extends ExecutorHandlers {
  /**
   * A worker ended without being healthy; the next is started in `retryMs`. Left out, it becomes a
   * warning of the process.
   */
  readonly onStartFailed?: (reason: string, retryMs: number) => void;
}

/** Workers that start at once: more would only take the cores from each other. */
const AT_A_TIME = 2 * availableParallelism();

/** The order in which `auto` tries devices. */
export const AUTO_DEVICES: readonly SettledDevice[] = ["cuda", "webgpu", "cpu"];

/**
 * Starts the workers and waits until all of them are ready; `onReady` is called for each slot just
 * after the promise is kept.
 *
 * From then on each worker that ends is followed by another: at once if it was healthy, else after
 * a wait that grows with every worker in that row that was not, up to a limit, and for ever,
 * because a cluster has to heal by itself when the cause goes away. The rows are independent: a
 * broken accelerator does not hold up what is replaced on another.
 * @throws Error saying which variant and device failed, and why; no process is left behind.
 */
export async function startExecutor(
  options: ExecutorOptions,
  handlers: ProcessExecutorHandlers,
  limits: Partial<WorkerLimits> = {},
): Promise<ProcessExecutor> {
  const { workerCount, standbyCount, device } = options;
  assert(workerCount > 0 && standbyCount >= 0, "an executor has at least one worker");
  const allLimits = { ...WORKER_LIMITS, ...limits };
  if (device !== "auto") {
    const pool = new WorkerPool(options, handlers, allLimits, device, []);
    await pool.start(workerCount + standbyCount, device !== "cpu");
    return pool.open();
  }
  const refused: RefusedDevice[] = [];
  for (const candidate of AUTO_DEVICES) {
    const pool = new WorkerPool(options, handlers, allLimits, candidate, [...refused]);
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
  readonly #limits: WorkerLimits;
  readonly #paces: WorkerPaces;
  readonly #slots: (WorkerProcess | null)[];
  readonly #standbys: WorkerProcess[] = [];
  /** Every process that has not ended. */
  readonly #alive = new Set<WorkerProcess>();
  /** One for each worker that is to be started later. */
  readonly #retries: Retries;
  #announced = false;
  #closing: Promise<void> | null = null;

  constructor(
    options: ExecutorOptions,
    handlers: ProcessExecutorHandlers,
    limits: WorkerLimits,
    device: SettledDevice,
    refusedDevices: readonly RefusedDevice[],
  ) {
    this.#options = options;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#paces = new WorkerPaces(limits);
    this.#retries = new Retries(limits, handlers.onStartFailed);
    this.device = device;
    this.refusedDevices = refusedDevices;
    this.#slots = new Array(options.workerCount).fill(null);
  }

  /** Starts `count` workers. @throws Error if one of them fails; all have ended then. */
  async start(count: number, trying: boolean): Promise<void> {
    try {
      await aFewAtATime(count, AT_A_TIME, () => this.#spawn(0, trying));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Begins to call the handlers: deferred, so that the caller holds the executor by then. */
  open(): this {
    setImmediate(() => {
      this.#announced = true;
      for (const [slot, worker] of this.#slots.entries()) {
        if (worker !== null && this.#closing === null) this.#handlers.onReady(slot);
      }
    });
    return this;
  }

  async run(slot: number, batch: Batch, onComputed?: () => void): Promise<BatchResult> {
    const worker = this.#slots[slot];
    assert(worker !== undefined, "a batch goes to a slot that exists");
    if (worker === null) throw new WorkerLostError(slot, "its replacement is not ready");
    return worker.run(slot, batch, undefined, onComputed);
  }

  pids() {
    return {
      slots: this.#slots.map((worker) => worker?.pid),
      standbys: this.#standbys.map(({ pid }) => pid).filter((pid) => pid !== undefined),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#endAll();
    return this.#closing;
  }

  async #endAll(): Promise<void> {
    this.#retries.cancel();
    await Promise.all(Array.from(this.#alive, (worker) => worker.end("the executor was closed")));
  }

  /**
   * Kept once the worker is ready.
   * @param failures how many before it in its row ended without being healthy.
   * @throws Error if it ends before.
   */
  #spawn(failures: number, trying: boolean): Promise<void> {
    const { variants, threadsPerWorker: threads } = this.#options;
    const setup = {
      variants,
      threads,
      device: this.device,
      deviceId: this.#leastUsedDeviceId(),
      trying,
      keptModels: null,
    };
    return new Promise((resolve, reject) => {
      const listener: WorkerListener = {
        onReady: (ready) => {
          this.#admit(ready);
          resolve();
        },
        onLost: (lost, reason, isHung) => this.#onLost(lost, reason, isHung),
        onEnd: (ended, reason) => {
          this.#alive.delete(ended);
          if (ended.phase === "starting") reject(new Error(reason));
          else if (ended.phase === "healthy") this.#replace(0);
          else this.#retryLater(failures + 1, `ready, but ended without an answer: ${reason}`);
        },
      };
      const worker = new WorkerProcess(setup, this.#limits, listener, this.#paces);
      this.#alive.add(worker);
    });
  }

  /** Finds the least used of the ids that workers are to be spread over; null without ids. */
  #leastUsedDeviceId(): number | null {
    const useCount = (id: number) =>
      Array.from(this.#alive).filter((worker) => worker.setup.deviceId === id).length;
    const ids = this.#options.deviceIds;
    const fewest = Math.min(...ids.map(useCount));
    return ids.find((id) => useCount(id) === fewest) ?? null;
  }

  /** Gives a worker the first slot that is free, else the rank of a standby. */
  #admit(worker: WorkerProcess): void {
    const slot = this.#slots.indexOf(null);
    if (slot < 0) {
      this.#standbys.push(worker);
    } else {
      this.#slots[slot] = worker;
      if (this.#announced) this.#handlers.onReady(slot);
    }
  }

  #onLost(worker: WorkerProcess, reason: string, isHung: boolean): void {
    if (this.#closing !== null) return;
    const slot = this.#slots.indexOf(worker);
    if (slot < 0) {
      const rank = this.#standbys.indexOf(worker);
      assert(rank >= 0, "a worker that was ready has a slot or stands by");
      this.#standbys.splice(rank, 1);
    } else {
      this.#vacate(slot, reason, isHung);
    }
  }

  /**
   * Gives the slot of a lost worker to a standby, if there is one, in the same turn: nobody sees it
   * empty. One that answers no ping just now comes last.
   */
  #vacate(slot: number, reason: string, isHung: boolean): void {
    const rank = this.#standbys.findIndex(({ isSilent }) => !isSilent);
    const [standby] = this.#standbys.splice(Math.max(0, rank), 1);
    this.#slots[slot] = standby ?? null;
    if (!this.#announced) return;
    const { onLost, onReady, onReplaced } = this.#handlers;
    if (standby !== undefined && onReplaced !== undefined) {
      onReplaced(slot, reason, isHung);
    } else {
      onLost(slot, reason, isHung);
      if (standby !== undefined) onReady(slot);
    }
  }

  #replace(failures: number): void {
    // Who was told of the loss may have closed the executor.
    if (this.#closing !== null) return;
    this.#spawn(failures, false).catch((error: unknown) => {
      this.#retryLater(failures + 1, messageOf(error));
    });
  }

  #retryLater(failures: number, reason: string): void {
    if (this.#closing !== null) return;
    this.#retries.later(failures, reason, () => this.#replace(failures));
  }
}
