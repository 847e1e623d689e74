/**
 * Executor over worker processes: their slots, the standbys, and the replacement of lost workers.
 */
import { availableParallelism } from "node:os";
import { assert } from "../../core/assert.ts";
import { messageOf, Retries } from "../limits/retries.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../limits/worker-limits.ts";
import { WorkerPaces } from "../limits/worker-paces.ts";
import {
  type Batch,
  type BatchResult,
  type Executor,
  type ExecutorHandlers,
  type ExecutorOptions,
  type OnComputed,
  WorkerLostError,
} from "../models/executor.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import type { LossCause } from "../models/scaler.ts";
import { deviceKey, distinctDevices, type WorkerDevice } from "../models/worker-device.ts";
import { type WorkerListener, WorkerProcess } from "../process/worker-process.ts";

export interface ProcessExecutor extends Executor {
  /** Process ids by worker slot, undefined for missing workers, and those of the standbys. */
  pids(): {
    readonly slots: readonly (number | undefined)[];
    readonly standbys: readonly number[];
  };
  /** Replaces the worker of a slot, which is then lost because of failing batches. */
  recycle(worker: number, reason: string): void;
}

export interface ProcessExecutorHandlers extends ExecutorHandlers {
  /** Called when a batch was given to a worker slot. */
  readonly onRun?: (worker: number, rows: number) => void;
  /**
   * Called when a worker ended without being healthy; the next is started in `retryMs`. By default
   * it becomes a warning of the process.
   */
  readonly onStartFailed?: (reason: string, retryMs: number) => void;
  /**
   * Called each time that a worker, in a slot, in reserve or only tried, has loaded a model that it
   * did not hold; at the start, before the executor is available.
   */
  readonly onModelFacts?: (facts: ModelFacts, on: WorkerDevice) => void;
  /**
   * Called for each worker that is ready, except those that are only tried.
   * @param tookMs from the start of its process, including the models that it loads then.
   */
  readonly onStarted?: (tookMs: number) => void;
}

/** Workers that start at once: more would only take the cores from each other. */
const AT_A_TIME = 2 * availableParallelism();

/**
 * Starts the workers and waits until all of them are ready; `onReady` is called for each slot just
 * after the promise is resolved.
 *
 * From then on each worker that ends is replaced: at once if it was healthy, otherwise after a wait
 * that grows, up to a limit, with each consecutive unhealthy worker. Retries never stop, because a
 * cluster has to heal by itself when the cause goes away. These waits are independent: a broken
 * accelerator does not delay replacements on another.
 * @throws Error saying which variant and device failed, and why; no process is left behind.
 */
export async function startExecutor(
  options: ExecutorOptions,
  handlers: ProcessExecutorHandlers,
  limits: Partial<WorkerLimits> = {},
): Promise<ProcessExecutor> {
  const { workerCount, standbyCount, devices, isTrial = false } = options;
  assert(workerCount > 0 && standbyCount >= 0, "an executor has at least one worker");
  assert(devices.length === workerCount, "each worker has a device");
  const pool = new WorkerPool(options, handlers, { ...WORKER_LIMITS, ...limits });
  const [first, ...others] = wantedDevices(options);
  assert(first !== undefined, "an executor has at least one worker");
  if (!isTrial) await pool.start([first, ...others], true);
  else {
    await pool.start([first], true);
    await pool.start(others, false);
  }
  return pool.open();
}

/** Returns a device for each worker to start: slots first, then standbys. */
function wantedDevices({ devices, standbyCount }: ExecutorOptions): WorkerDevice[] {
  const standbys = distinctDevices(devices).flatMap((device) => {
    return new Array<WorkerDevice>(standbyCount).fill(device);
  });
  return [...devices, ...standbys];
}

class WorkerPool implements ProcessExecutor {
  readonly #options: ExecutorOptions;
  readonly #handlers: ProcessExecutorHandlers;
  readonly #limits: WorkerLimits;
  /** Paces per device key: devices of one kind share them. */
  readonly #paces = new Map<string, WorkerPaces>();
  readonly #slots: (WorkerProcess | null)[];
  readonly #standbys: WorkerProcess[] = [];
  /** Every process that has not ended. */
  readonly #alive = new Set<WorkerProcess>();
  /** Pending retries, one for each worker that will be started later. */
  readonly #retries: Retries;
  #announced = false;
  #closing: Promise<void> | null = null;

  constructor(options: ExecutorOptions, handlers: ProcessExecutorHandlers, limits: WorkerLimits) {
    this.#options = options;
    this.#handlers = handlers;
    this.#limits = limits;
    for (const device of distinctDevices(options.devices)) {
      this.#paces.set(deviceKey(device), new WorkerPaces(limits));
    }
    this.#retries = new Retries(limits, handlers.onStartFailed);
    this.#slots = new Array(options.workerCount).fill(null);
  }

  /** Starts a worker on each. @throws Error if one of them fails; all have ended then. */
  async start(devices: readonly WorkerDevice[], trying: boolean): Promise<void> {
    try {
      await aFewAtATime(devices.length, AT_A_TIME, (index) => {
        const device = devices[index];
        assert(device !== undefined, "each worker has a device");
        return this.#spawn(device, 0, trying && device.provider !== "cpu");
      });
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

  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const worker = this.#slots[slot];
    assert(worker !== undefined, "a batch goes to a slot that exists");
    if (worker === null) throw new WorkerLostError(slot, "its replacement is not ready");
    this.#handlers.onRun?.(slot, batch.rows);
    return worker.run(slot, batch, undefined, onComputed);
  }

  recycle(slot: number, reason: string): void {
    this.#slots[slot]?.retire(reason);
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
  #spawn(on: WorkerDevice, failures: number, trying: boolean): Promise<void> {
    const { variants, threadsPerWorker: threads } = this.#options;
    const setup = {
      variants,
      threads,
      on,
      trying,
      keptModels: null,
      cpuFallback: this.#options.cpuFallback ?? "allow",
    };
    return new Promise((resolve, reject) => {
      const listener: WorkerListener = {
        onReady: (ready) => {
          this.#handlers.onStarted?.(ready.startMs);
          this.#admit(ready);
          resolve();
        },
        onFacts: this.#handlers.onModelFacts,
        onLost: (lost, reason, cause) => this.#onLost(lost, reason, cause),
        onEnd: (ended, reason) => {
          this.#alive.delete(ended);
          if (ended.phase === "starting") reject(new Error(reason));
          else if (ended.phase === "healthy") this.#replace(on, 0);
          else this.#retryLater(on, failures + 1, `ready, but ended without an answer: ${reason}`);
        },
      };
      const paces = this.#paces.get(deviceKey(on));
      const worker = new WorkerProcess(setup, this.#limits, listener, paces);
      this.#alive.add(worker);
    });
  }

  /** Gives a worker the first free slot of its device, otherwise makes it a standby. */
  #admit(worker: WorkerProcess): void {
    const slot = this.#slots.findIndex((taken, index) => {
      return taken === null && this.#isOn(worker, index);
    });
    if (slot < 0) {
      this.#standbys.push(worker);
    } else {
      this.#slots[slot] = worker;
      if (this.#announced) this.#handlers.onReady(slot);
    }
  }

  #onLost(worker: WorkerProcess, reason: string, cause: LossCause): void {
    if (this.#closing !== null) return;
    const slot = this.#slots.indexOf(worker);
    if (slot < 0) {
      const rank = this.#standbys.indexOf(worker);
      assert(rank >= 0, "a worker that was ready has a slot or stands by");
      this.#standbys.splice(rank, 1);
    } else {
      this.#vacate(slot, reason, cause);
    }
  }

  #isOn({ setup }: WorkerProcess, slot: number): boolean {
    const device = this.#options.devices[slot];
    return device !== undefined && deviceKey(device) === deviceKey(setup.on);
  }

  /**
   * Gives the slot of a lost worker to a standby of its device, if there is one, in the same turn,
   * so that the slot is never seen empty. A standby that answers no ping is the last choice.
   */
  #vacate(slot: number, reason: string, cause: LossCause): void {
    const fitting = this.#standbys.filter((worker) => this.#isOn(worker, slot));
    const standby = fitting.find(({ isSilent }) => !isSilent) ?? fitting[0];
    if (standby !== undefined) this.#standbys.splice(this.#standbys.indexOf(standby), 1);
    this.#slots[slot] = standby ?? null;
    if (!this.#announced) return;
    const { onLost, onReady, onReplaced } = this.#handlers;
    if (standby !== undefined && onReplaced !== undefined) {
      onReplaced(slot, reason, cause);
    } else {
      onLost(slot, reason, cause);
      if (standby !== undefined) onReady(slot);
    }
  }

  #replace(on: WorkerDevice, failures: number): void {
    // A listener may have closed the executor.
    if (this.#closing !== null) return;
    this.#spawn(on, failures, false).catch((error: unknown) => {
      this.#retryLater(on, failures + 1, messageOf(error));
    });
  }

  #retryLater(on: WorkerDevice, failures: number, reason: string): void {
    if (this.#closing !== null) return;
    this.#retries.later(failures, reason, () => this.#replace(on, failures));
  }
}

/**
 * Runs `count` tasks, with at most `most` at a time; resolves once all are done.
 * @param begin starts the task with this index, from 0.
 * @throws the first failure; tasks that were not begun by then are not begun.
 */
export async function aFewAtATime(
  count: number,
  most: number,
  begin: (index: number) => Promise<void>,
): Promise<void> {
  let left = count;
  const row = async (): Promise<void> => {
    while (left > 0) {
      const index = count - left;
      left--;
      try {
        await begin(index);
      } catch (error) {
        left = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, most) }, row));
}
