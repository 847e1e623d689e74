/**
 * The slots of an executor, filled by workers of other machines as they come and go: one that is
 * ready takes the first free slot of its pool, and those that find none stand by. One that is to
 * leave gets no batch any more, and is taken out once it has none.
 */
import { assert } from "../core/assert.ts";
import { BatchPace } from "../exec/limits/batch-pace.ts";
import {
  type Batch,
  type BatchResult,
  type OnComputed,
  WorkerLostError,
} from "../exec/models/executor.ts";
import { RemoteMistake } from "./asked-batch.ts";
import { HttpConnection } from "./http-connection.ts";
import { REMOTE_LIMITS, type RemoteLimits, type RemoteOptions } from "./remote-options.ts";
import { RemoteWorker, type RemoteWorkerListener } from "./remote-worker.ts";
import type { RemoteMember } from "./remote-workers.ts";

interface SlotListener {
  readonly onReady: (slot: number) => void;
  /** @param next what stood by and has the slot now; null where it is empty. */
  readonly onLost: (
    slot: number,
    reason: string,
    isHung: boolean,
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
  /** Each worker that was not taken out, by name. */
  readonly #workers = new Map<string, RemoteWorker>();
  /** Batches of each, where it has some. */
  readonly #batches = new Map<RemoteWorker, number>();
  readonly #pace: BatchPace;
  /** What was said last of each that cannot be used. */
  readonly #toldByName = new Map<string, string>();
  #stopListening = () => {};
  #isAnnounced = false;
  #isClosed = false;

  /** @param isAssigned whether workers hold what they are assigned, or every variant. */
  constructor(options: RemoteOptions, isAssigned: boolean, listener: SlotListener) {
    this.#options = options;
    this.#limits = { ...REMOTE_LIMITS, ...options.limits };
    this.#isAssigned = isAssigned;
    this.#listener = listener;
    this.#slots = new Array<RemoteWorker | null>(options.workerCount).fill(null);
    this.#pace = new BatchPace(this.#limits);
  }

  /**
   * Looks at each worker once: those that are away may come later.
   * @throws RemoteMistake if one cannot be a worker as it is; all connections are closed then.
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

  /** Begins to call the listener: deferred, so that the caller holds the executor by then. */
  open(): void {
    setImmediate(() => {
      this.#isAnnounced = true;
      for (const [slot, worker] of this.#slots.entries()) {
        if (worker !== null && !this.#isClosed) this.#listener.onReady(slot);
      }
    });
  }

  /** The worker of a slot; null where there is none. */
  at(slot: number): RemoteWorker | null {
    const worker = this.#slots[slot];
    assert(worker !== undefined, "a worker slot exists");
    return worker;
  }

  /** @throws WorkerLostError, which it is also where its worker gets no more batches. */
  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const worker = this.at(slot);
    if (worker === null) throw new WorkerLostError(slot, "no worker has taken its place");
    const { name, url, isLeaving } = worker.member;
    if (isLeaving === true) {
      throw new WorkerLostError(slot, `${url} is to be another front end's: it was not asked`);
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

  /** Whether tensors can stay on the worker of any slot, for that of any other. */
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
        this.#letGo(worker);
      } else this.#takeOut(worker, member === undefined ? "it was taken out" : "it has moved");
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
    this.#letGo(worker);
  }

  /** Takes out one that leaves, once nothing runs on it. */
  #letGo(worker: RemoteWorker): void {
    const { name, isLeaving } = worker.member;
    if (isLeaving !== true || this.#batches.has(worker)) return;
    if (this.#workers.get(name) === worker) this.#takeOut(worker, "it is another front end's");
  }

  /** @returns what its first try failed of; null where it did not. */
  #add(member: RemoteMember): Promise<Error | null> {
    const { variants, threadsPerWorker: threads, frontEnd, hops, poolNames } = this.#options;
    const pool = poolNames.indexOf(member.pool);
    if (pool < 0) {
      const known = poolNames.join(", ");
      this.#tell(member, `expected it to be of a pool (${known}), got "${member.pool}"`);
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
        this.#toldByName.delete(worker.member.name);
        this.#admit(worker);
      },
      onLost: (worker, reason, isHung) => this.#vacate(worker, reason, isHung),
      onPutOff: ({ member }, error) => this.#tell(member, error.message),
    };
  }

  /** Says it once, until it says something else. */
  #tell({ name, url }: RemoteMember, found: string): void {
    if (this.#toldByName.get(name) === found) return;
    this.#toldByName.set(name, found);
    this.#options.onNotice(`the worker ${url} cannot be used yet: ${found}`, "warn");
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

  #takeOut(worker: RemoteWorker, reason: string): void {
    this.#workers.delete(worker.member.name);
    worker.close(reason);
    // Whoever awaits its batch knows its fate before the slot is filled again.
    setImmediate(() => this.#vacate(worker, reason, false));
  }

  /** What stands by of its pool takes its slot in the same turn: nobody sees it empty. */
  #vacate(worker: RemoteWorker, reason: string, isHung: boolean): void {
    if (this.#isClosed) return;
    const rank = this.#standbys.indexOf(worker);
    if (rank >= 0) this.#standbys.splice(rank, 1);
    const slot = this.#slots.indexOf(worker);
    if (slot < 0) return;
    const next = this.#standbys.find((one) => one.isJoined && this.#isOf(one, slot)) ?? null;
    if (next !== null) this.#standbys.splice(this.#standbys.indexOf(next), 1);
    this.#slots[slot] = next;
    if (this.#isAnnounced)
      this.#listener.onLost(slot, `${worker.member.url}: ${reason}`, isHung, next);
  }
}
