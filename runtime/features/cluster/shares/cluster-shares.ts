/** Maintains this front end's share of the workers through leases in the cluster's store. */
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
  /** Made by `frontEndId`. */
  readonly frontEnd: string;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  /** Load that this front end measures. */
  readonly seenLoad: () => SeenLoad;
  /** Traffic counts of this front end for autoscalers; omitted for none. */
  readonly traffic?: () => TrafficByApplication;
  /** URL of this front end for health checks by others; omitted or undefined for none. */
  readonly url?: () => string | undefined;
  /** Whether the front end at a URL serves; by default none does. */
  readonly answers?: (url: string, frontEnd: string) => Promise<boolean>;
  /** Called when the share, or the load of the others, has changed. */
  readonly onShare: (share: LoadShare) => void;
  /** Called when the held workers, or their epochs, have changed. */
  readonly onHeld: () => void;
  /** Whether a worker has no batch of this front end; called for workers that are leaving. */
  readonly isIdle: (worker: string) => boolean;
  /** Called for errors other than an unreachable store. */
  readonly onError: (error: Error) => void;
  readonly leases?: { readonly beatMs: number; readonly leaseMs: number };
}

/** Ticks per beat. */
const TICKS = 2;
/**
 * Beats after which an unanswered beat is abandoned: one that went to a former leader of NATS would
 * otherwise block for a whole lease.
 */
const BEAT_ANSWER_BEATS = 2;
/** Longest time to leave with a slow store, in leases. */
const LEAVING_LEASES = 1;

/**
 * Makes an id that differs from those of other front ends and of earlier processes with the same
 * name; it identifies leases and requests.
 * @param name chosen by the operator; characters that headers and keys cannot hold become `-`.
 */
export function frontEndId(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 64);
  return `${plain === "" ? "front-end" : plain}-${randomBytes(4).toString("hex")}`;
}

/** Drives a `LeaseBook` with real time and the store. */
export class ClusterShares {
  readonly frontEnd: string;
  readonly #options: ClusterSharesOptions;
  readonly #book: LeaseBook;
  readonly #leaseMs: number;
  readonly #beatMs: number;
  readonly #tickMs: number;
  readonly #closers: (() => void)[] = [];
  /** Health-check URLs of other front ends that have one. */
  readonly #urls = new Map<string, string>();
  /** Front ends being checked. */
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

  /** Held workers by name, including those that are leaving. */
  get held(): ReadonlyMap<string, HeldWorker> {
    return this.#held;
  }

  /** Lease to state in a request to a worker; null for none. */
  leaseOf(worker: string): string | null {
    const held = this.#held.get(worker);
    return held === undefined ? null : `${this.frontEnd}/${held.epoch}`;
  }

  /** Live front ends, including this one. */
  get frontEnds(): readonly string[] {
    return this.#book.frontEnds(this.#options.nowMs());
  }

  /** Starts to watch and to claim; to be called once. */
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

  setWorkers(workers: readonly LeasedWorker[]): void {
    this.#book.onWorkers(workers);
    this.#soon();
  }

  /**
   * Returns all leases, so that others need not wait for them to expire. With an unreachable or
   * slow store it gives up after one lease.
   */
  async close(): Promise<void> {
    this.#book.leave();
    const { store } = this.#options;
    if (this.#timer !== undefined) {
      await this.#left();
      clearInterval(this.#timer);
      this.#timer = undefined;
      await this.#withinLease(this.#quietly(store.delete(frontEndKey(this.frontEnd))));
    }
    for (const close of this.#closers.splice(0)) close();
  }

  /** Resolves when no worker is held any more, or after one lease. */
  #left(): Promise<void> {
    const left = new Promise<void>((resolve) => {
      this.#onLeft = resolve;
    });
    this.#tick();
    return this.#withinLease(left);
  }

  async #withinLease(work: Promise<unknown>): Promise<void> {
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
    else this.#book.onLease(worker, leaseOfText(value) ?? NO_LEASE, revision);
    this.#soon();
  }

  /** Called when a worker may have become idle. */
  look(): void {
    this.#soon();
  }

  /** Schedules a tick after the current batch of changes. */
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
    for (const write of writes) void this.#execute(write);
    for (const name of this.#book.doubtful(nowMs)) void this.#ask(name);
    this.#reportChanges(nowMs);
  }

  /** Checks a silent front end over HTTP: it may serve without access to the store. */
  async #ask(frontEnd: string): Promise<void> {
    const url = this.#urls.get(frontEnd);
    const { answers, nowMs } = this.#options;
    if (url === undefined || answers === undefined || this.#asked.has(frontEnd)) return;
    this.#asked.add(frontEnd);
    this.#book.onCheck(frontEnd, nowMs());
    const serves = await answers(url, frontEnd);
    this.#book.onChecked(frontEnd, serves, nowMs());
    this.#asked.delete(frontEnd);
  }

  /** Reports what has changed since the last report. */
  #reportChanges(nowMs: number): void {
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

  /** Executes a write; never rejects. A later tick requests failed writes again. */
  async #execute(write: LeaseWrite): Promise<void> {
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

  /** Reads the own key after it was deleted or an answer was lost. */
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

  /** Reads an entry that had changed, or whose answer was lost. */
  async #readLease(worker: string, key: string): Promise<void> {
    const entry = await this.#quietly(this.#options.store.get(key).then((found) => ({ found })));
    if (entry === null) return;
    if (entry.found === null) this.#book.onNoLease(worker);
    else {
      const { value, revision } = entry.found;
      this.#book.onLeaseRead(worker, leaseOfText(value) ?? NO_LEASE, revision);
    }
  }

  async #forget(frontEnd: string, revision: number): Promise<boolean> {
    return this.#options.store.delete(frontEndKey(frontEnd), revision);
  }

  /** Returns null if the store is unreachable; reports other errors. */
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

/** @throws ClusterAwayError if the answer is late; a later answer is ignored. */
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

/** Stands for an invalid entry. */
const NO_LEASE = { holder: null, epoch: 0 };

type Held = ReadonlyMap<string, HeldWorker>;

function isSame(one: Held, other: Held): boolean {
  if (one.size !== other.size) return false;
  for (const [worker, { epoch, isLeaving }] of one) {
    const known = other.get(worker);
    if (known?.epoch !== epoch || known.isLeaving !== isLeaving) return false;
  }
  return true;
}
