/**
 * Executor over remote v2 servers that hold assigned models, which they load through the model
 * repository extension if they have it.
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

/** Number of models that a worker keeps, so that it can return to one at once. */
const KEPT_MODELS = 4;

/**
 * Contacts each worker once. A slot is ready as soon as a worker of its pool is, whatever models
 * that has; assigned models are loaded later. A worker that cannot load one is lost and becomes
 * ready again later.
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

/** Variants and cores assigned to a slot. */
interface Assignment {
  readonly variants: readonly number[];
  cores: number;
}

class RemoteAssigned implements AssignedProcessExecutor {
  readonly #options: RemoteOptions;
  readonly #handlers: AssignedProcessHandlers;
  readonly #slots: RemoteSlots;
  /** Assignment of each slot; null if unassigned. */
  readonly #assigned: (Assignment | null)[];
  /** Variants held per worker, the last assigned at the end. */
  readonly #held = new WeakMap<RemoteWorker, number[]>();
  /** Pending changes per worker, executed sequentially. */
  readonly #changes = new WeakMap<RemoteWorker, Promise<void>>();
  #isClosed = false;

  constructor(options: RemoteOptions, handlers: AssignedProcessHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#assigned = new Array<Assignment | null>(options.workerCount).fill(null);
    this.#slots = new RemoteSlots(options, true, {
      onReady: handlers.onReady,
      onLost: (slot, reason, cause, next) => {
        this.#assigned[slot] = null;
        handlers.onLost(slot, reason, cause);
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
    assert(isCoreCount(assigned.cores), "a worker has a positive integer number of cores");
    this.#assigned[slot] = assigned;
    this.#change(slot, assigned, (loads) => this.#handlers.onModelReady(slot, loads));
  }

  resize(slot: number, cores: number): void {
    assert(isCoreCount(cores), "a worker has a positive integer number of cores");
    const assigned = this.#assigned[slot] ?? null;
    if (assigned === null) return;
    assigned.cores = cores;
    this.#change(slot, assigned, () => {
      if (assigned.cores === cores) this.#handlers.onResized?.(slot, cores);
    });
  }

  /** The worker keeps its models, which the next assignment may need. */
  release(slot: number): void {
    this.#assigned[slot] = null;
  }

  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    this.#handlers.onRun?.(slot, batch.rows);
    return this.#slots.run(slot, batch, onComputed);
  }

  recycle(slot: number, reason: string): void {
    this.#slots.recycle(slot, reason);
  }

  /** Empty: there are no local processes. */
  pids() {
    const slots = this.#assigned.map(() => undefined);
    return { slots, standbys: [] };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#slots.close();
  }

  /**
   * Queues a change of a worker's models. @param onHeld not called if the assignment changes
   * before.
   */
  #change(slot: number, assigned: Assignment, onHeld: (loads: number) => void): void {
    const worker = this.#slots.at(slot);
    // The worker is about to be reported as lost; the next assignment follows then.
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
