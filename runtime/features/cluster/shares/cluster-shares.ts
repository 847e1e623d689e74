/** Keeps this front end's share of the workers, by the leases of the cluster's store. */
import { randomBytes } from "node:crypto";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import { ClusterAwayError } from "../away-error.ts";
import type { ClusterStore, StoreChange } from "../store.ts";
import {
  DEFAULT_LEASES,
  type HeldWorker,
  LeaseBook,
  type LeasedWorker,
  type LeaseWrite,
} from "./lease-book.ts";
import {
  beatText,
  FRONT_ENDS,
  frontEndKey,
  LEASES,
  leaseKey,
  leaseOfText,
  leaseText,
  loadOfBeat,
  nameOfKey,
  type TrafficByApplication,
  urlOfBeat,
} from "./share-texts.ts";

export interface ClusterSharesOptions {
  readonly store: ClusterStore;
  /** As `frontEndId` makes it. */
  readonly frontEnd: string;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /** What this front end sees of the load. */
  readonly seenLoad: () => SeenLoad;
  /** What this front end has counted, for whoever scales; left out for nothing. */
  readonly traffic?: () => TrafficByApplication;
  /** Where this front end answers; left out, or undefined, where nobody is to ask it. */
  readonly url?: () => string | undefined;
  /** Whether a front end answers there that serves; left out, none does. */
  readonly answers?: (url: string, frontEnd: string) => Promise<boolean>;
  /** Told when the share, or what others see, has changed. */
  readonly onShare: (share: LoadShare) => void;
  /** Told when the workers that are held, or their epochs, have changed. */
  readonly onHeld: () => void;
  /** Whether a worker has no batch of this front end; it is asked of those that are to leave. */
  readonly isIdle: (worker: string) => boolean;
  /** Told of what is no matter of the store's being away. */
  readonly onError: (error: Error) => void;
  readonly leases?: { readonly beatMs: number; readonly leaseMs: number };
}

/** Looks at the time per beat. */
const TICKS = 2;
/**
 * A beat that is not answered for so many is followed by the next: one that went to a leader of
 * NATS which is no more would be waited for as long as a lease.
 */
const BEAT_ANSWER_BEATS = 2;
/** How long leaving may take where the store is slow, in leases. */
const LEAVING_LEASES = 1;

/**
 * A name that no other front end has, nor one that was started earlier under the same: leases and
 * ids of requests are known by it.
 * @param name what a person calls it; what headers and keys cannot hold becomes `-`.
 */
export function frontEndId(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 64);
  return `${plain === "" ? "front-end" : plain}-${randomBytes(4).toString("hex")}`;
}

/** The driver of a `LeaseBook` on the wall clock. */
export class ClusterShares {
  readonly frontEnd: string;
  readonly #options: ClusterSharesOptions;
  readonly #book: LeaseBook;
  readonly #leaseMs: number;
  readonly #beatMs: number;
  readonly #tickMs: number;
  readonly #closers: (() => void)[] = [];
  /** Of other front ends, where they say it. */
  readonly #urls = new Map<string, string>();
  /** Names of those that are being asked. */
  readonly #asked = new Set<string>();
  #held: ReadonlyMap<string, HeldWorker> = new Map();
  #share = "";
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTicking = false;
  #onLeft: (() => void) | undefined;

  constructor(options: ClusterSharesOptions) {
    const { frontEnd, leases = DEFAULT_LEASES } = options;
    this.frontEnd = frontEnd;
    this.#options = options;
    this.#book = new LeaseBook({ frontEnd, ...leases });
    this.#leaseMs = leases.leaseMs;
    this.#beatMs = leases.beatMs;
    this.#tickMs = leases.beatMs / TICKS;
  }

  /** By name; those that leave included. */
  get held(): ReadonlyMap<string, HeldWorker> {
    return this.#held;
  }

  /** What a request to a worker has to say of its lease; null where there is none. */
  leaseOf(worker: string): string | null {
    const held = this.#held.get(worker);
    return held === undefined ? null : `${this.frontEnd}/${held.epoch}`;
  }

  /** Front ends that are alive, this one included. */
  get frontEnds(): readonly string[] {
    return this.#book.frontEnds(this.#options.nowMs());
  }

  /** Begins to watch and to claim, once. */
  open(): void {
    const { store } = this.#options;
    this.#closers.push(
      store.watch(FRONT_ENDS, { onChange: (change) => this.#onFrontEnd(change) }),
      store.watch(LEASES, { onChange: (change) => this.#onLease(change) }),
    );
    this.#timer = setInterval(() => this.#tick(), this.#tickMs);
    this.#timer.unref();
    this.#tick();
  }

  /** The workers that are there now. */
  setWorkers(workers: readonly LeasedWorker[]): void {
    this.#book.onWorkers(workers);
    this.#soon();
  }

  /**
   * Gives everything back, so that the others need not wait for the leases to end. Where the store
   * is away or slow they do: it takes a lease at most.
   */
  async close(): Promise<void> {
    this.#book.leave();
    const { store } = this.#options;
    if (this.#timer !== undefined) {
      await this.#left();
      clearInterval(this.#timer);
      this.#timer = undefined;
      await this.#atMost(this.#quietly(store.delete(frontEndKey(this.frontEnd))));
    }
    for (const close of this.#closers.splice(0)) close();
  }

  /** Kept when nothing is held any more, or a lease has passed. */
  #left(): Promise<void> {
    const left = new Promise<void>((resolve) => {
      this.#onLeft = resolve;
    });
    this.#tick();
    return this.#atMost(left);
  }

  async #atMost(work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LEAVING_LEASES * this.#leaseMs);
    });
    await Promise.race([work, over]);
    clearTimeout(timer);
  }

  #onFrontEnd({ key, value, revision }: StoreChange): void {
    const name = nameOfKey(key);
    const load = value === null ? null : loadOfBeat(value);
    const url = value === null ? null : urlOfBeat(value);
    if (url === null) this.#urls.delete(name);
    else this.#urls.set(name, url);
    this.#book.onBeat(name, load, revision, this.#options.nowMs());
    this.#soon();
  }

  #onLease({ key, value, revision }: StoreChange): void {
    const worker = nameOfKey(key);
    if (value === null) this.#book.onNoLease(worker, revision);
    else this.#book.onLease(worker, leaseOfText(value) ?? NOBODY, revision);
    this.#soon();
  }

  /** A worker may have become idle. */
  look(): void {
    this.#soon();
  }

  /** Looks again once all that came together has been told. */
  #soon(): void {
    if (this.#isTicking || this.#timer === undefined) return;
    this.#isTicking = true;
    setImmediate(() => {
      this.#isTicking = false;
      if (this.#timer !== undefined) this.#tick();
    });
  }

  #tick(): void {
    const nowMs = this.#options.nowMs();
    const writes = this.#book.tick(nowMs, this.#options.isIdle);
    for (const write of writes) void this.#carryOut(write);
    for (const name of this.#book.doubtful(nowMs)) void this.#ask(name);
    this.#tell(nowMs);
  }

  /** Its way to the store may be cut, and it serves all the same. */
  async #ask(frontEnd: string): Promise<void> {
    const url = this.#urls.get(frontEnd);
    const { answers, nowMs } = this.#options;
    if (url === undefined || answers === undefined || this.#asked.has(frontEnd)) return;
    this.#asked.add(frontEnd);
    if (await answers(url, frontEnd)) this.#book.onHeard(frontEnd, nowMs());
    this.#asked.delete(frontEnd);
  }

  /** Tells what has changed since it was told last. */
  #tell(nowMs: number): void {
    const book = this.#book;
    const held = book.held();
    if (!isSame(held, this.#held)) {
      this.#held = held;
      this.#options.onHeld();
    }
    const others = book.othersLoad(nowMs);
    const share: LoadShare = {
      othersQps: others?.qps ?? null,
      othersVariance: others?.variance ?? 0,
      workers: Array.from(held.values()).filter(({ isLeaving }) => !isLeaving).length,
      allWorkers: book.workerCount,
    };
    const text = JSON.stringify(share);
    if (text !== this.#share) {
      this.#share = text;
      this.#options.onShare(share);
    }
    if (book.hasLeft) this.#onLeft?.();
  }

  /** Never rejects: what the store does not do is asked for again by a later tick. */
  async #carryOut(write: LeaseWrite): Promise<void> {
    if (write.kind === "beat") await this.#beat(write.revision);
    else if (write.kind === "lease") await this.#change(write);
    else await this.#quietly(this.#forget(write.frontEnd, write.revision));
  }

  async #beat(revision: number | null): Promise<void> {
    const { store, nowMs, seenLoad, traffic, url } = this.#options;
    this.#beats++;
    const key = frontEndKey(this.frontEnd);
    const text = beatText(this.#beats, seenLoad(), traffic?.(), url?.());
    const writing = revision === null ? store.create(key, text) : store.update(key, text, revision);
    const done = await this.#quietly(answerWithin(writing, BEAT_ANSWER_BEATS * this.#beatMs));
    this.#book.onBeatDone(done, nowMs());
    if (done === null) await this.#readBeat(key);
  }

  /** Somebody has deleted the key, or an answer was lost. */
  async #readBeat(key: string): Promise<void> {
    const { store, nowMs } = this.#options;
    const entry = await this.#quietly(store.get(key).then((found) => ({ found })));
    if (entry === null) return;
    if (entry.found === null) this.#book.onNoBeat();
    else {
      const { value, revision } = entry.found;
      this.#book.onBeat(this.frontEnd, loadOfBeat(value), revision, nowMs());
    }
  }

  async #change({ worker, lease, revision }: Changed): Promise<void> {
    const { store } = this.#options;
    const key = leaseKey(worker);
    const text = leaseText(lease);
    const writing = revision === null ? store.create(key, text) : store.update(key, text, revision);
    const done = await this.#quietly(writing);
    if (done === null) await this.#readLease(worker, key);
    this.#book.onLeaseDone(worker, done);
    this.#soon();
  }

  /** The entry was not the one that was known, or an answer was lost. */
  async #readLease(worker: string, key: string): Promise<void> {
    const entry = await this.#quietly(this.#options.store.get(key).then((found) => ({ found })));
    if (entry === null) return;
    if (entry.found === null) this.#book.onNoLease(worker);
    else {
      const { value, revision } = entry.found;
      this.#book.onLeaseRead(worker, leaseOfText(value) ?? NOBODY, revision);
    }
  }

  async #forget(frontEnd: string, revision: number): Promise<boolean> {
    return this.#options.store.delete(frontEndKey(frontEnd), revision);
  }

  /** Null where the store is away; other errors are told. */
  async #quietly<T>(asked: Promise<T>): Promise<T | null> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ClusterAwayError)) {
        this.#options.onError(error instanceof Error ? error : new Error(String(error)));
      }
      return null;
    }
  }
}

/** @throws ClusterAwayError where there is none in time; what comes later is for nobody. */
async function answerWithin<T>(asked: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    const late = () => reject(new ClusterAwayError(`expected an answer within ${limitMs} ms`));
    timer = setTimeout(late, limitMs);
  });
  try {
    return await Promise.race([asked, over]);
  } finally {
    clearTimeout(timer);
    asked.catch(() => {});
  }
}

type Changed = Extract<LeaseWrite, { kind: "lease" }>;

/** What an entry says that is none of ours. */
const NOBODY = { holder: null, epoch: 0 };

type Held = ReadonlyMap<string, HeldWorker>;

function isSame(one: Held, other: Held): boolean {
  if (one.size !== other.size) return false;
  for (const [worker, { epoch, isLeaving }] of one) {
    const known = other.get(worker);
    if (known?.epoch !== epoch || known.isLeaving !== isLeaving) return false;
  }
  return true;
}
