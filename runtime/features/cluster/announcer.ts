/** A worker that lets a cluster know of it: once a second, and whenever something changes. */
import { randomUUID } from "node:crypto";
import type { ClusterConnection } from "./connection.ts";
import { BEAT_MS } from "./member-book.ts";
import { type Every, timerEvery, WORKERS } from "./membership.ts";
import { type ClusterStore, storeKey } from "./store.ts";
import { textOfState, type WorkerState } from "./worker-state.ts";

/** What of a worker's state it does not know by itself. */
export type AnnouncedState = Omit<WorkerState, "session" | "isLeaving">;

interface AnnouncerOptions {
  readonly connection: Pick<ClusterConnection, "publish" | "onLink">;
  readonly store: ClusterStore;
  /** What it is now; asked with every beat. Its name stays. */
  readonly state: () => AnnouncedState;
  /** Left out for a timer. */
  readonly every?: Every;
}

/** Of the beats, those after which what is kept is written again, lest somebody has deleted it. */
const KEEP_BEATS = 300;

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #session = randomUUID();
  readonly #key: string;
  readonly #name: string;
  readonly #ends: (() => void)[];
  #isLeaving = false;
  /** What is kept of it, as far as it knows. */
  #kept: string | null = null;
  #revision: number | null = null;
  #keeping: Promise<void> | null = null;
  #beats = 0;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    const { connection, every = timerEvery } = options;
    this.#name = options.state().name;
    this.#key = storeKey(WORKERS, this.#name);
    this.#ends = [
      connection.onLink((link) => {
        if (link !== null) this.beat();
      }),
      every(BEAT_MS, () => this.beat()),
    ];
  }

  /** Says what it is at once, for something has changed. */
  beat(): void {
    const text = textOfState(this.#state());
    const isSent = this.#options.connection.publish(this.#key, text);
    this.#beats += 1;
    if (this.#beats % KEEP_BEATS === 0) this.#kept = null;
    if (isSent && !this.#isLeaving && this.#kept !== text) this.#keep(text);
  }

  /** It takes nothing new from now on: says so, and that there is nothing to be kept of it. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    for (const end of this.#ends) end();
    this.beat();
    await this.#keeping;
    if (this.#revision === null) return;
    await this.#options.store.delete(this.#key, this.#revision).catch(() => {
      // It is away: whoever reads what is kept hears no beat.
    });
  }

  #state(): WorkerState {
    const state = this.#options.state();
    return { ...state, name: this.#name, session: this.#session, isLeaving: this.#isLeaving };
  }

  /** One after the other; what could not be kept is tried again with the next beat. */
  #keep(text: string): void {
    this.#keeping ??= this.#write(text)
      .then((revision) => {
        this.#revision = revision;
        this.#kept = revision === null ? null : text;
      })
      .catch(() => {
        this.#kept = null;
      })
      .finally(() => {
        this.#keeping = null;
      });
  }

  /** Whoever had the name before has gone, or has to. @returns null where another was quicker. */
  async #write(text: string): Promise<number | null> {
    const { store } = this.#options;
    if (this.#revision !== null) {
      const revision = await store.update(this.#key, text, this.#revision);
      if (revision !== null) return revision;
    }
    const found = await store.get(this.#key);
    return found === null
      ? store.create(this.#key, text)
      : store.update(this.#key, text, found.revision);
  }
}
