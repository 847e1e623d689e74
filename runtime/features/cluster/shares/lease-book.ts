/** Division of the workers from the view of one front end: which it holds, claims and returns. */
import type { SeenLoad } from "../../../core/load-share.ts";
import { PeerBook } from "./peer-book.ts";
import { type ShareableWorker, shares } from "./shares.ts";

/** Holder of a worker, as stored. */
export interface Lease {
  /** Null for none; the epoch is then that of the last holder. */
  readonly holder: string | null;
  /** Increases with each holder, so that a worker rejects earlier holders. */
  readonly epoch: number;
}

/** A worker that can be held. */
export interface LeasedWorker {
  readonly name: string;
  readonly pool: string;
  /** Highest epoch that the worker has seen, if reported. */
  readonly epoch?: number | undefined;
}

/**
 * A write requested from the store.
 * @property revision last known revision of the key, null if there is no such key.
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
  /** Unique, also among earlier front ends. */
  readonly frontEnd: string;
  readonly beatMs: number;
  readonly leaseMs: number;
}

export const DEFAULT_LEASES = { beatMs: 500, leaseMs: 2000 };

export interface HeldWorker {
  readonly epoch: number;
  /** Whether it gets no more batches and is returned once it is idle. */
  readonly isLeaving: boolean;
}

interface KnownLease extends Lease {
  readonly revision: number;
}

/** Limit of concurrent writes. */
const MOST_WRITES = 256;
/** Beats that may still be in flight when a lease ends. */
const LATE_BEATS = 1;

/**
 * Holds a share of the workers by leases: a state machine without clock or store, whose driver
 * passes in the content of the store and executes the writes that `tick` returns.
 * Each front end keeps a key alive by changing it every `beatMs`. For each worker the store has the
 * holder and the epoch, written when the holder changes and never to prolong it. All front ends
 * compute the same shares from the same content. A front end returns workers outside its share, and
 * claims those inside it that have no holder or whose holder's key has not changed for `leaseMs`. A
 * claim succeeds only if the entry is unchanged since the decision, and increments the epoch, so no
 * two front ends ever have the same epoch of a worker, regardless of their clocks. A front end
 * wrongly considered dead continues until a worker has seen the next epoch and rejects it.
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

  /** Workers that this front end holds. */
  held(): Map<string, HeldWorker> {
    const held = new Map<string, HeldWorker>();
    for (const [name, { epoch: seen = 0 }] of this.#workers) {
      const lease = this.#leases.get(name);
      if (lease?.holder !== this.frontEnd || lease.epoch < seen) continue;
      // The entry may already be returned.
      if (this.#writing.get(name)?.holder === null) continue;
      held.set(name, { epoch: lease.epoch, isLeaving: this.#leaving.has(name) });
    }
    return held;
  }

  /** Number of workers, held or not. */
  get workerCount(): number {
    return this.#workers.size;
  }

  /** Live front ends, including this one unless it is leaving. */
  frontEnds(nowMs: number): string[] {
    const own = this.#isLeaving ? [] : [this.frontEnd];
    return [...own, ...this.#peers.alive(nowMs)];
  }

  /** Front ends that were silent recently. */
  doubtful(nowMs: number): string[] {
    return this.#peers.doubtful(nowMs);
  }

  /** Records that a doubtful front end is being checked: it is not dead until the result. */
  onCheck(frontEnd: string, nowMs: number): void {
    this.#peers.onCheck(frontEnd, nowMs);
  }

  /** Records whether a checked front end serves although its key is unchanged. */
  onChecked(frontEnd: string, serves: boolean, nowMs: number): void {
    this.#peers.onChecked(frontEnd, serves, nowMs);
  }

  /** Load that the others measure; null if unknown. */
  othersLoad(nowMs: number): SeenLoad | null {
    return this.#peers.load(nowMs);
  }

  /** Sets the current workers. */
  onWorkers(workers: readonly LeasedWorker[]): void {
    this.#workers = new Map(workers.map((worker) => [worker.name, worker]));
  }

  /** Records a front end's key. @param load null if it was deleted. */
  onBeat(frontEnd: string, load: SeenLoad | null, revision: number, nowMs: number): void {
    if (frontEnd !== this.frontEnd) this.#peers.onBeat(frontEnd, load, revision, nowMs);
    else if (load !== null) this.#beatRevision = Math.max(revision, this.#beatRevision ?? 0);
    else if (revision > (this.#beatRevision ?? 0)) this.#beatRevision = null;
  }

  /** Records that the own key is missing. */
  onNoBeat(): void {
    this.#beatRevision = null;
  }

  /** Records the entry of a worker. */
  onLease(worker: string, { holder, epoch }: Lease, revision: number): void {
    const known = this.#leases.get(worker);
    if (known !== undefined && known.revision >= revision) return;
    this.#leases.set(worker, { holder, epoch, revision });
  }

  /**
   * Records the entry of a worker that was read because the known one was outdated. Its revision
   * may be lower if the store lost its content. A stale read only costs another attempt, because a
   * write based on it fails.
   */
  onLeaseRead(worker: string, { holder, epoch }: Lease, revision: number): void {
    this.#leases.set(worker, { holder, epoch, revision });
  }

  /** Records that a worker has no entry. @param revision of the deletion, if known. */
  onNoLease(worker: string, revision = Number.POSITIVE_INFINITY): void {
    const known = this.#leases.get(worker);
    if (known !== undefined && known.revision < revision) this.#leases.delete(worker);
  }

  /** @param revision of the own key; null if the write failed. */
  onBeatDone(revision: number | null, nowMs: number): void {
    this.#isBeating = false;
    if (revision === null) return;
    this.#beatRevision = Math.max(revision, this.#beatRevision ?? 0);
    this.#hasBeaten = true;
    this.#peers.onOwnBeat(nowMs);
  }

  /** @param revision of the entry; null if the write failed or its result is unknown. */
  onLeaseDone(worker: string, revision: number | null): void {
    const lease = this.#writing.get(worker);
    this.#writing.delete(worker);
    if (lease !== undefined && revision !== null) this.onLease(worker, lease, revision);
  }

  /** Starts to return all workers and to claim none. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Whether all workers are returned. */
  get hasLeft(): boolean {
    if (!this.#isLeaving || this.#writing.size > 0) return false;
    const holders = Array.from(this.#workers.keys(), (name) => this.#leases.get(name)?.holder);
    return !holders.includes(this.frontEnd);
  }

  /**
   * Returns the writes to request from the store now; each must be answered by `on…Done`.
   * @param isIdle whether a worker has no batch of this front end: it is returned only then, so
   * that no batch is lost.
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

  /** Workers with their live holders. */
  #shareable(alive: ReadonlySet<string>): ShareableWorker[] {
    return Array.from(this.#workers.values(), ({ name, pool }) => {
      const holder = this.#leases.get(name)?.holder ?? null;
      return { name, pool, holder: holder !== null && alive.has(holder) ? holder : null };
    });
  }

  /** Lease to write to get a worker; null if it is held already or cannot be claimed yet. */
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
