/**
 * The executor over v2 servers of other machines that hold what they are assigned: they load models
 * by the model repository extension, where they have it.
 */
import { assert } from "../core/assert.ts";
import type { Batch, BatchResult, OnComputed } from "../exec/models/executor.ts";
import { oneLine } from "../exec/models/loaded-model.ts";
import { isCoreCount } from "../exec/models/scaler.ts";
import type {
  AssignedProcessExecutor,
  AssignedProcessHandlers,
} from "../exec/pool/assigned-pool.ts";
import type { RemoteOptions } from "./remote-options.ts";
import { RemoteSlots } from "./remote-slots.ts";
import type { RemoteWorker } from "./remote-worker.ts";

/** Models that a worker keeps, so that it can go back to one at once. */
const KEPT_MODELS = 4;

/**
 * Looks once at each worker that there is; a slot is ready once a worker of its pool is, whatever
 * that holds. What it is assigned it loads then; one that cannot is lost, and ready again later.
 */
export async function startRemoteAssignedExecutor(
  options: RemoteOptions,
  handlers: AssignedProcessHandlers,
): Promise<AssignedProcessExecutor> {
  assert(options.workerCount > 0, "an executor has at least one worker");
  assert(options.pools.length === options.workerCount, "each worker slot has a pool");
  const executor = new RemoteAssigned(options, handlers);
  await executor.start();
  return executor;
}

/** What a slot is to hold. */
interface Assignment {
  readonly variants: readonly number[];
  cores: number;
}

class RemoteAssigned implements AssignedProcessExecutor {
  readonly #options: RemoteOptions;
  readonly #handlers: AssignedProcessHandlers;
  readonly #slots: RemoteSlots;
  /** By slot; null where nothing is assigned. */
  readonly #assigned: (Assignment | null)[];
  /** By worker the variants that it holds, that assigned last at the end. */
  readonly #held = new WeakMap<RemoteWorker, number[]>();
  /** By worker what it is told to hold, one after the other. */
  readonly #changes = new WeakMap<RemoteWorker, Promise<void>>();
  #isClosed = false;

  constructor(options: RemoteOptions, handlers: AssignedProcessHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#assigned = new Array<Assignment | null>(options.workerCount).fill(null);
    this.#slots = new RemoteSlots(options, true, {
      onReady: handlers.onReady,
      onLost: (slot, reason, isHung, next) => {
        this.#assigned[slot] = null;
        handlers.onLost(slot, reason, isHung);
        if (next !== null && !this.#isClosed) handlers.onReady(slot);
      },
    });
  }

  /** @throws RemoteMistake */
  async start(): Promise<void> {
    await this.#slots.start();
    this.#slots.open();
  }

  assign(slot: number, variants: readonly number[], cores?: number): void {
    const assigned = { variants, cores: cores ?? this.#options.threadsPerWorker };
    assert(isCoreCount(assigned.cores), "a worker has a whole number of cores, at least one");
    this.#assigned[slot] = assigned;
    this.#change(slot, assigned, (loads) => this.#handlers.onModelReady(slot, loads));
  }

  resize(slot: number, cores: number): void {
    assert(isCoreCount(cores), "a worker has a whole number of cores, at least one");
    const assigned = this.#assigned[slot] ?? null;
    if (assigned === null) return;
    assigned.cores = cores;
    this.#change(slot, assigned, () => {
      if (assigned.cores === cores) this.#handlers.onResized?.(slot, cores);
    });
  }

  /** What it holds stays with it: the next assignment may want it. */
  release(slot: number): void {
    this.#assigned[slot] = null;
  }

  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    this.#handlers.onRun?.(slot, batch.rows);
    return this.#slots.run(slot, batch, onComputed);
  }

  /** No process of this machine. */
  pids() {
    const slots = this.#assigned.map(() => undefined);
    return { slots, standbys: [] };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#slots.close();
  }

  /** After what the worker is told already. @param onHeld not called once that is other things. */
  #change(slot: number, assigned: Assignment, onHeld: (loads: number) => void): void {
    const worker = this.#slots.at(slot);
    // Its loss is about to be told, and the next assignment follows on that.
    if (worker === null || !worker.isJoined) return;
    const isWanted = () => this.#assigned[slot] === assigned && this.#slots.at(slot) === worker;
    const before = this.#changes.get(worker) ?? Promise.resolve();
    const change = before.then(async () => {
      if (!isWanted() || !worker.isJoined) return;
      try {
        const loads = await worker.hold(assigned.variants, assigned.cores);
        if (!isWanted() || this.#isClosed) return;
        onHeld(loads);
        await this.#forgetOldest(worker, assigned.variants);
      } catch (error) {
        worker.giveUp(oneLine(error));
      }
    });
    this.#changes.set(worker, change);
  }

  async #forgetOldest(worker: RemoteWorker, variants: readonly number[]): Promise<void> {
    const others = (this.#held.get(worker) ?? []).filter((index) => !variants.includes(index));
    const most = Math.max(0, KEPT_MODELS - variants.length);
    const gone = others.slice(0, Math.max(0, others.length - most));
    this.#held.set(worker, [...others.slice(gone.length), ...variants]);
    for (const index of gone) await worker.forget(index);
  }
}
