/**
 * Workers of a cluster as seen by one front end: receives their beats, reads their stored states,
 * and maintains the list of members.
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
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly onNotice: Notice;
  /** Calls repeatedly until the returned function is called; by default a timer. */
  readonly every?: Every;
  /** Whether a worker's URL answers; by default over HTTP. */
  readonly isThere?: (url: string) => Promise<boolean>;
}

export type Every = (ms: number, work: () => void) => () => void;

/** Prefix of the beats and stored states of workers. */
export const WORKERS = "workers";
/** Silence after which the stored state of a worker is deleted. */
const FORGET_MS = 15 * 60_000;
const MAX_NOTIFIED = 1000;

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
  /** Revisions of the stored states, by name. */
  readonly #kept = new Map<string, number>();
  /** Notices already given: senders of invalid beats, and names used by two workers. */
  readonly #notified = new Set<string>();
  /** Names of workers being checked over HTTP. */
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

  /** Members by name; the same array until they change. */
  get members(): readonly WorkerState[] {
    return this.#book.members;
  }

  /** @param listener called after each change. @returns a function that removes it. */
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
      this.#notifyOnce(subject, `${subject}: expected the state of a worker, got invalid data`);
      return;
    }
    const beaten = this.#book.onBeat(state, this.#options.nowMs());
    if (beaten === "changed") this.#changed();
    if (beaten !== "another") return;
    const { name, session, url } = state;
    this.#notifyOnce(
      `${name} ${session}`,
      `two workers are named ${name}; the one at ${url} is ignored`,
    );
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

  /** Checks a worker over HTTP, because its NATS may be partitioned from this one. */
  async #ask(name: string, url: string): Promise<void> {
    if (this.#asked.has(name)) return;
    this.#asked.add(name);
    const { isThere = answersHealth, nowMs } = this.#options;
    if (await isThere(url)) this.#book.onHeard(name, nowMs());
    this.#asked.delete(name);
  }

  /** Deletes the stored state, unless the worker or another front end changed it. */
  async #delete(name: string): Promise<void> {
    const revision = this.#kept.get(name);
    this.#kept.delete(name);
    if (revision === undefined) return;
    await this.#options.store.delete(storeKey(WORKERS, name), revision).catch(() => {
      // NATS is unreachable: the next front end that starts receives no beat of that worker either.
    });
  }

  #notifyOnce(key: string, message: string): void {
    if (this.#notified.has(key) || this.#notified.size >= MAX_NOTIFIED) return;
    this.#notified.add(key);
    this.#options.onNotice(message, "warn");
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
