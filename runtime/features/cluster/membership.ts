/**
 * The workers of a cluster as one front end sees them: it hears their beats, reads what was kept of
 * them, and tells who is a member.
 */
import type { Notice } from "../../base/notice.ts";
import { answersHealth } from "./answers-health.ts";
import type { ClusterConnection } from "./connection.ts";
import { BEAT_MS, MemberBook } from "./member-book.ts";
import { type ClusterStore, isUnder, type StoreChange, storeKey } from "./store.ts";
import { readState, type WorkerState } from "./worker-state.ts";

interface MembershipOptions {
  readonly connection: Pick<ClusterConnection, "onLink" | "subscribe">;
  readonly store: ClusterStore;
  /** A monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly onNotice: Notice;
  /** Calls now and then, until what it returns is called; left out for a timer. */
  readonly every?: Every;
  /** Whether somebody answers at the URL of a worker; left out, it is asked over HTTP. */
  readonly isThere?: (url: string) => Promise<boolean>;
}

export type Every = (ms: number, work: () => void) => () => void;

/** Beats, and what is kept of workers, are under that name. */
export const WORKERS = "workers";
/** What was kept of a worker that has not been heard for so long is deleted. */
const FORGET_MS = 15 * 60_000;
const MAX_TOLD = 1000;

export const timerEvery: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
};

export class ClusterMembership {
  readonly #options: MembershipOptions;
  readonly #book = new MemberBook();
  readonly #listeners = new Set<() => void>();
  readonly #ends: (() => void)[];
  /** Revisions of what is kept, by name. */
  readonly #kept = new Map<string, number>();
  /** What was told of already: senders of what is no beat, and names that two workers have. */
  readonly #told = new Set<string>();
  /** Names of workers that are being asked whether they are there. */
  readonly #asked = new Set<string>();

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { connection, store, every = timerEvery } = options;
    this.#ends = [
      connection.subscribe(`${WORKERS}.*`, (text, subject) => this.#onBeat(text, subject)),
      connection.onLink((link) => this.#onLink(link !== null)),
      store.watch(WORKERS, { onChange: (change) => this.#onKept(change) }),
      every(BEAT_MS / 2, () => this.#look()),
    ];
  }

  /** By name. The same list until it changes. */
  get members(): readonly WorkerState[] {
    return this.#book.members;
  }

  /** @param listener is called after each change. @returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#listeners.clear();
  }

  #onLink(isThere: boolean): void {
    const nowMs = this.#options.nowMs();
    if (isThere) this.#book.onBack(nowMs);
    else this.#book.onAway(nowMs);
  }

  #onBeat(text: string, subject: string): void {
    const state = readState(text);
    if (state === null || !subject.endsWith(`.${storeKey(WORKERS, state.name)}`)) {
      this.#tellOnce(subject, `${subject}: expected the state of a worker, got something else`);
      return;
    }
    const beaten = this.#book.onBeat(state, this.#options.nowMs());
    if (beaten === "changed") this.#changed();
    if (beaten !== "another") return;
    const { name, session, url } = state;
    this.#tellOnce(`${name} ${session}`, `two workers are called ${name}; ${url} has to wait`);
  }

  #onKept({ key, value, revision }: StoreChange): void {
    if (!isUnder(key, WORKERS)) return;
    const state = value === null ? null : readState(value);
    if (state === null || key !== storeKey(WORKERS, state.name)) return;
    this.#kept.set(state.name, revision);
    if (this.#book.onKept(state, this.#options.nowMs())) this.#changed();
  }

  #look(): void {
    const nowMs = this.#options.nowMs();
    if (this.#book.onLook(nowMs)) this.#changed();
    for (const { name, url } of this.#book.doubtful(nowMs)) void this.#ask(name, url);
    for (const name of this.#book.forget(FORGET_MS, nowMs)) void this.#delete(name);
  }

  /** Its NATS may be cut off from ours: whoever answers is there. */
  async #ask(name: string, url: string): Promise<void> {
    if (this.#asked.has(name)) return;
    this.#asked.add(name);
    const { isThere = answersHealth, nowMs } = this.#options;
    if (await isThere(url)) this.#book.onHeard(name, nowMs());
    this.#asked.delete(name);
  }

  /** Unless it has written since, or another front end was first. */
  async #delete(name: string): Promise<void> {
    const revision = this.#kept.get(name);
    this.#kept.delete(name);
    if (revision === undefined) return;
    await this.#options.store.delete(storeKey(WORKERS, name), revision).catch(() => {
      // It is away: the next front end that starts hears nothing of that worker either.
    });
  }

  #tellOnce(key: string, message: string): void {
    if (this.#told.has(key) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(key);
    this.#options.onNotice(message, "warn");
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
