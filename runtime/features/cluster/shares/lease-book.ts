/** One front end's part in dividing the workers: what it holds, takes over and gives back. */
import type { SeenLoad } from "../../../core/load-share.ts";
import { PeerBook } from "./peer-book.ts";
import { type ShareableWorker, shares } from "./shares.ts";

/** Who has a worker, as the store says it. */
export interface Lease {
  /** Null: nobody, and the epoch is that of who had it last. */
  readonly holder: string | null;
  /** Grows with every holder, so that a worker refuses whoever had it before. */
  readonly epoch: number;
}

/** A worker that is there to be held. */
export interface LeasedWorker {
  readonly name: string;
  readonly pool: string;
  /** The highest epoch that it has seen, where it says so. */
  readonly epoch?: number | undefined;
}

/**
 * A change that the store is to be asked for.
 * @property revision the last one known of the key, null where there is no such key.
 */
export type LeaseWrite =
  | { readonly kind: "beat"; readonly revision: number | null }
  | { readonly kind: "forget"; readonly frontEnd: string; readonly revision: number }
  | {
      readonly kind: "lease";
      readonly worker: string;
      readonly lease: Lease;
      readonly revision: number | null;
    };

interface LeaseBookOptions {
  /** No other front end has this name, nor has had it. */
  readonly frontEnd: string;
  readonly beatMs: number;
  readonly leaseMs: number;
}

export const DEFAULT_LEASES = { beatMs: 500, leaseMs: 2000 };

export interface HeldWorker {
  readonly epoch: number;
  /** It gets no more batches, and is given back once it has none. */
  readonly isLeaving: boolean;
}

interface KnownLease extends Lease {
  readonly revision: number;
}

/** Writes that are under way at a time at most. */
const MOST_WRITES = 256;
/** Beats of a lease that may be under way when it ends. */
const LATE_BEATS = 1;

/**
 * Holds a share of the workers by leases: a state machine without clock or store, whose driver
 * tells it what the store says and carries out the writes that `tick` asks for.
 *
 * Every front end keeps a key alive by changing it every `beatMs`. Of every worker the store has
 * who holds it, in which epoch; that is written when the holder changes, never to prolong it. All
 * front ends compute the same shares of what they know. One gives back what is not in its share,
 * and claims what is, if nobody holds it or the holder's key has not changed for `leaseMs`. A claim
 * succeeds only if the entry is still the one it was decided on, and adds one to its epoch: so no
 * two ever have the same epoch of a worker, whatever they believe and whatever their clocks say.
 * Who is taken for dead and is not goes on until a worker has seen the next epoch and refuses it.
 */
export class LeaseBook {
  readonly frontEnd: string;
  readonly #beatMs: number;
  readonly #peers: PeerBook;
  readonly #leases = new Map<string, KnownLease>();
  readonly #writing = new Map<string, Lease>();
  readonly #leaving = new Set<string>();
  #workers: ReadonlyMap<string, LeasedWorker> = new Map();
  #beatRevision: number | null = null;
  #isBeating = false;
  #hasBeaten = false;
  #nextBeatMs = Number.NEGATIVE_INFINITY;
  #isLeaving = false;

  constructor({ frontEnd, beatMs, leaseMs }: LeaseBookOptions) {
    this.frontEnd = frontEnd;
    this.#beatMs = beatMs;
    const leaseBeats = Math.max(1, Math.floor(leaseMs / beatMs) - LATE_BEATS);
    this.#peers = new PeerBook({ leaseMs, leaseBeats });
  }

  /** The workers that this front end has. */
  held(): Map<string, HeldWorker> {
    const held = new Map<string, HeldWorker>();
    for (const [name, { epoch: seen = 0 }] of this.#workers) {
      const lease = this.#leases.get(name);
      if (lease === undefined || lease.holder !== this.frontEnd || lease.epoch < seen) continue;
      // Nobody knows whether it is given back already.
      if (this.#writing.get(name)?.holder === null) continue;
      held.set(name, { epoch: lease.epoch, isLeaving: this.#leaving.has(name) });
    }
    return held;
  }

  /** Workers that are there, whoever holds them. */
  get workerCount(): number {
    return this.#workers.size;
  }

  /** Front ends that are alive, this one included unless it leaves. */
  frontEnds(nowMs: number): string[] {
    const own = this.#isLeaving ? [] : [this.frontEnd];
    return [...own, ...this.#peers.alive(nowMs)];
  }

  /** Front ends that nothing was heard of lately. */
  doubtful(nowMs: number): string[] {
    return this.#peers.doubtful(nowMs);
  }

  /** One of them answered, though its key does not change. */
  onHeard(frontEnd: string, nowMs: number): void {
    this.#peers.onHeard(frontEnd, nowMs);
  }

  /** What the others see; null while that is not known. */
  othersLoad(nowMs: number): SeenLoad | null {
    return this.#peers.load(nowMs);
  }

  /** The workers that are there now. */
  onWorkers(workers: readonly LeasedWorker[]): void {
    this.#workers = new Map(workers.map((worker) => [worker.name, worker]));
  }

  /** The key of a front end was seen. @param load null: it was deleted. */
  onBeat(frontEnd: string, load: SeenLoad | null, revision: number, nowMs: number): void {
    if (frontEnd !== this.frontEnd) this.#peers.onBeat(frontEnd, load, revision, nowMs);
    else if (load !== null) this.#beatRevision = Math.max(revision, this.#beatRevision ?? 0);
    else if (revision > (this.#beatRevision ?? 0)) this.#beatRevision = null;
  }

  /** The own key is not there. */
  onNoBeat(): void {
    this.#beatRevision = null;
  }

  /** The entry of a worker was seen. */
  onLease(worker: string, { holder, epoch }: Lease, revision: number): void {
    const known = this.#leases.get(worker);
    if (known !== undefined && known.revision >= revision) return;
    this.#leases.set(worker, { holder, epoch, revision });
  }

  /**
   * The entry of a worker was asked for, since it was not the one that is known. It may have a
   * lower revision, where the store has lost all and began anew; one that is merely old costs
   * another try, for what is decided on it is not written.
   */
  onLeaseRead(worker: string, { holder, epoch }: Lease, revision: number): void {
    this.#leases.set(worker, { holder, epoch, revision });
  }

  /**
   * There is no entry of a worker. @param revision with which it was deleted, where that is known.
   */
  onNoLease(worker: string, revision = Number.POSITIVE_INFINITY): void {
    const known = this.#leases.get(worker);
    if (known !== undefined && known.revision < revision) this.#leases.delete(worker);
  }

  /** @param revision of the own key now; null where it was not written. */
  onBeatDone(revision: number | null, nowMs: number): void {
    this.#isBeating = false;
    if (revision === null) return;
    this.#beatRevision = Math.max(revision, this.#beatRevision ?? 0);
    this.#hasBeaten = true;
    this.#peers.onOwnBeat(nowMs);
  }

  /** @param revision of the entry now; null where it was not written, or nobody knows. */
  onLeaseDone(worker: string, revision: number | null): void {
    const lease = this.#writing.get(worker);
    this.#writing.delete(worker);
    if (lease !== undefined && revision !== null) this.onLease(worker, lease, revision);
  }

  /** From now on everything is given back and nothing is taken. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Whether all has been given back. */
  get hasLeft(): boolean {
    if (!this.#isLeaving || this.#writing.size > 0) return false;
    const holders = Array.from(this.#workers.keys(), (name) => this.#leases.get(name)?.holder);
    return !holders.includes(this.frontEnd);
  }

  /**
   * What the store is to be asked for now. Each write is answered for once, by `on…Done`.
   * @param isIdle whether a worker has no batch of this front end: it is given back only then, so
   * that no batch is given up.
   */
  tick(nowMs: number, isIdle: (worker: string) => boolean): LeaseWrite[] {
    const writes: LeaseWrite[] = [];
    if (!this.#isLeaving && !this.#isBeating && nowMs >= this.#nextBeatMs) {
      this.#isBeating = true;
      this.#nextBeatMs = nowMs + this.#beatMs;
      writes.push({ kind: "beat", revision: this.#beatRevision });
    }
    for (const { name, revision } of this.#peers.forget(nowMs)) {
      writes.push({ kind: "forget", frontEnd: name, revision });
    }
    if (this.#hasBeaten) this.#divide(nowMs, isIdle, writes);
    return writes;
  }

  #divide(nowMs: number, isIdle: (worker: string) => boolean, writes: LeaseWrite[]): void {
    const frontEnds = this.frontEnds(nowMs);
    const alive = new Set(frontEnds);
    const assignment = shares(frontEnds, this.#shareable(alive));
    for (const worker of this.#workers.values()) {
      if (this.#writing.size >= MOST_WRITES) return;
      const { name } = worker;
      if (this.#writing.has(name)) continue;
      const isMine = assignment.get(name) === this.frontEnd;
      const known = this.#leases.get(name);
      if (!isMine && known?.holder === this.frontEnd) this.#leaving.add(name);
      else this.#leaving.delete(name);
      const mayLeave = this.#leaving.has(name) && isIdle(name);
      const lease = isMine ? this.#claim(worker, nowMs) : mayLeave ? givenBack(known) : null;
      if (lease === null) continue;
      this.#writing.set(name, lease);
      writes.push({ kind: "lease", worker: name, lease, revision: known?.revision ?? null });
    }
  }

  /** Workers with holders that are alive. */
  #shareable(alive: ReadonlySet<string>): ShareableWorker[] {
    return Array.from(this.#workers.values(), ({ name, pool }) => {
      const holder = this.#leases.get(name)?.holder ?? null;
      return { name, pool, holder: holder !== null && alive.has(holder) ? holder : null };
    });
  }

  /** What to write to have a worker; null where it is held already, or may not be taken yet. */
  #claim({ name, epoch: seen = 0 }: LeasedWorker, nowMs: number): Lease | null {
    const { holder = null, epoch = 0 } = this.#leases.get(name) ?? {};
    if (holder === this.frontEnd && epoch >= seen) return null;
    if (holder !== null && holder !== this.frontEnd) {
      this.#peers.onHolder(holder, nowMs);
      if (!this.#peers.hasExpired(holder, nowMs)) return null;
    }
    return { holder: this.frontEnd, epoch: Math.max(epoch, seen) + 1 };
  }
}

function givenBack(lease: Lease | undefined): Lease | null {
  return lease === undefined ? null : { holder: null, epoch: lease.epoch };
}
