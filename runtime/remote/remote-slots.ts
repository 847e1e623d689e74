/**
 * Slots of an executor, filled by remote workers as they come and go: a ready worker takes the
 * first free slot of its pool, others stand by. A leaving worker gets no more batches and is
 * removed once it is idle.
 */
import { assert } from "../core/assert.ts";
import { BatchPace } from "../exec/limits/batch-pace.ts";
import {
  type Batch,
  type BatchResult,
  type OnComputed,
  WorkerLostError,
} from "../exec/models/executor.ts";
import type { LossCause } from "../exec/models/scaler.ts";
import { RemoteMistake } from "./asked-batch.ts";
import { HttpConnection } from "./http-connection.ts";
import { REMOTE_LIMITS, type RemoteLimits, type RemoteOptions } from "./remote-options.ts";
import { RemoteWorker, type RemoteWorkerListener } from "./remote-worker.ts";
import type { RemoteMember } from "./remote-workers.ts";

interface SlotListener {
  readonly onReady: (slot: number) => void;
  /** @param next standby that took the slot; null if the slot is empty. */
  readonly onLost: (
    slot: number,
    reason: string,
    cause: LossCause,
    next: RemoteWorker | null,
  ) => void;
}

export class RemoteSlots {
  readonly #options: RemoteOptions;
  readonly #limits: RemoteLimits;
  readonly #isAssigned: boolean;
  readonly #listener: SlotListener;
  readonly #slots: (RemoteWorker | null)[];
  readonly #standbys: RemoteWorker[] = [];
  /** Workers that were not removed, by name. */
  readonly #workers = new Map<string, RemoteWorker>();
  /** Number of batches of each busy worker. */
  readonly #batches = new Map<RemoteWorker, number>();
  readonly #pace: BatchPace;
  /** Last notice about each unusable worker. */
  readonly #noticeByName = new Map<string, string>();
  #stopListening = () => {};
  #isAnnounced = false;
  #isClosed = false;

  /** @param isAssigned whether workers hold assigned variants instead of all. */
  constructor(options: RemoteOptions, isAssigned: boolean, listener: SlotListener) {
    this.#options = options;
    this.#limits = { ...REMOTE_LIMITS, ...options.limits };
    this.#isAssigned = isAssigned;
    this.#listener = listener;
    this.#slots = new Array<RemoteWorker | null>(options.workerCount).fill(null);
    this.#pace = new BatchPace(this.#limits);
  }

  /**
   * Contacts each worker once; unreachable ones may join later.
   * @throws RemoteMistake for a worker with an unsuitable configuration, after closing all
   * connections.
   */
  async start(): Promise<void> {
    const members = this.#options.workers.members();
    const found = await Promise.all(members.map((member) => this.#add(member)));
    for (const [index, error] of found.entries()) {
      if (!(error instanceof RemoteMistake)) continue;
      this.close();
      throw new RemoteMistake(`the worker ${members[index]?.url}: ${error.message}`);
    }
    this.#stopListening = this.#options.workers.onChange(() => this.#onChange());
    this.#onChange();
  }

  /** Starts to call the listener; deferred, so that the caller has the executor by then. */
  open(): void {
    setImmediate(() => {
      this.#isAnnounced = true;
      for (const [slot, worker] of this.#slots.entries()) {
        if (worker !== null && !this.#isClosed) this.#listener.onReady(slot);
      }
    });
  }

  /** Worker of a slot; null if empty. */
  at(slot: number): RemoteWorker | null {
    const worker = this.#slots[slot];
    assert(worker !== undefined, "a worker slot exists");
    return worker;
  }

  /** @throws WorkerLostError, also if the worker gets no more batches. */
  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const worker = this.at(slot);
    if (worker === null) throw new WorkerLostError(slot, "the slot has no worker");
    const { name, url, isLeaving } = worker.member;
    if (isLeaving === true) {
      throw new WorkerLostError(
        slot,
        `${url} is being handed to another front end; the batch was not sent`,
      );
    }
    const end = this.#options.workers.use?.(name);
    this.#batches.set(worker, (this.#batches.get(worker) ?? 0) + 1);
    try {
      return await worker.run(slot, batch, onComputed);
    } finally {
      this.#onBatchEnd(worker);
      end?.();
    }
  }

  /** Treats the worker of a slot as lost, as `ProcessExecutor.recycle`. */
  recycle(slot: number, reason: string): void {
    this.at(slot)?.retire(reason);
  }

  /** Whether outputs can stay on the worker of any slot for the worker of any other. */
  get keepTensors(): boolean {
    return this.#slots.every((worker) => worker === null || worker.keepsTensors);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    for (const worker of this.#workers.values()) worker.close("the executor was closed");
    this.#workers.clear();
  }

  #onChange(): void {
    if (this.#isClosed) return;
    const members = new Map(this.#options.workers.members().map((one) => [one.name, one]));
    for (const [name, worker] of this.#workers) {
      const member = members.get(name);
      const isSame = member?.url === worker.member.url && member.pool === worker.member.pool;
      if (isSame) {
        worker.member = member;
        this.#removeIfIdle(worker);
      } else
        this.#remove(worker, member === undefined ? "it was removed" : "its URL or pool changed");
    }
    for (const member of members.values()) {
      if (member.isLeaving === true || this.#workers.has(member.name)) continue;
      void this.#add(member);
    }
  }

  #onBatchEnd(worker: RemoteWorker): void {
    const left = (this.#batches.get(worker) ?? 1) - 1;
    if (left > 0) this.#batches.set(worker, left);
    else this.#batches.delete(worker);
    this.#removeIfIdle(worker);
  }

  /** Removes a leaving worker once it is idle. */
  #removeIfIdle(worker: RemoteWorker): void {
    const { name, isLeaving } = worker.member;
    if (isLeaving !== true || this.#batches.has(worker)) return;
    if (this.#workers.get(name) === worker)
      this.#remove(worker, "it was handed to another front end");
  }

  /** @returns the error of the first attempt; null if it succeeded. */
  #add(member: RemoteMember): Promise<Error | null> {
    const { variants, threadsPerWorker: threads, frontEnd, hops, poolNames } = this.#options;
    const pool = poolNames.indexOf(member.pool);
    if (pool < 0) {
      const known = poolNames.join(", ");
      this.#notifyOnce(member, `expected a worker of a pool (${known}), got "${member.pool}"`);
      return Promise.resolve(null);
    }
    const own = this.#isAssigned
      ? []
      : [...variants.keys()].filter((index) => {
          return variants[index]?.pools?.includes(pool) ?? true;
        });
    const [limits, pace] = [this.#limits, this.#pace];
    const shared = { variants, ownVariants: own, threads, frontEnd, limits, pace, hops };
    const connection = new HttpConnection(member.url, this.#options.readToken);
    const worker = new RemoteWorker(member, { ...shared, connection }, this.#workerListener());
    this.#workers.set(member.name, worker);
    return worker.begin();
  }

  #workerListener(): RemoteWorkerListener {
    return {
      onJoined: (worker) => {
        this.#noticeByName.delete(worker.member.name);
        this.#admit(worker);
      },
      onLost: (worker, reason, cause) => this.#vacate(worker, reason, cause),
      onUnusable: ({ member }, error) => this.#notifyOnce(member, error.message),
    };
  }

  /** Gives a notice unless it repeats the last one. */
  #notifyOnce({ name, url }: RemoteMember, found: string): void {
    if (this.#noticeByName.get(name) === found) return;
    this.#noticeByName.set(name, found);
    this.#options.onNotice(`the worker ${url} cannot be used: ${found}`, "warn");
  }

  #admit(worker: RemoteWorker): void {
    const slot = this.#slots.findIndex((taken, index) => {
      return taken === null && this.#isOf(worker, index);
    });
    if (slot < 0) {
      this.#standbys.push(worker);
      return;
    }
    this.#slots[slot] = worker;
    if (this.#isAnnounced) this.#listener.onReady(slot);
  }

  #isOf({ member }: RemoteWorker, slot: number): boolean {
    return this.#options.poolNames[this.#options.pools[slot] ?? 0] === member.pool;
  }

  #remove(worker: RemoteWorker, reason: string): void {
    this.#workers.delete(worker.member.name);
    worker.close(reason);
    // The batch's caller learns its fate before the slot is filled again.
    setImmediate(() => this.#vacate(worker, reason, "ended"));
  }

  /** A standby of the pool takes the slot in the same turn, so that it never appears empty. */
  #vacate(worker: RemoteWorker, reason: string, cause: LossCause): void {
    if (this.#isClosed) return;
    const rank = this.#standbys.indexOf(worker);
    if (rank >= 0) this.#standbys.splice(rank, 1);
    const slot = this.#slots.indexOf(worker);
    if (slot < 0) return;
    const next = this.#standbys.find((one) => one.isJoined && this.#isOf(one, slot)) ?? null;
    if (next !== null) this.#standbys.splice(this.#standbys.indexOf(next), 1);
    this.#slots[slot] = next;
    if (this.#isAnnounced)
      this.#listener.onLost(slot, `${worker.member.url}: ${reason}`, cause, next);
  }
}
