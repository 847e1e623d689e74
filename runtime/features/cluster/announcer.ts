/** Announces a worker to its cluster: every second, and whenever its state changes. */
import { randomUUID } from "node:crypto";
import type { ClusterConnection } from "./connection.ts";
import { BEAT_MS } from "./member-book.ts";
import { type Every, timerEvery, WORKERS } from "./membership.ts";
import { type ClusterStore, storeKey } from "./store.ts";
import { textOfState, type WorkerState } from "./worker-state.ts";

/** State provided by the worker; the announcer adds the rest. */
export type AnnouncedState = Omit<WorkerState, "session" | "isLeaving">;

interface AnnouncerOptions {
  readonly connection: Pick<ClusterConnection, "publish" | "onLink">;
  readonly store: ClusterStore;
  /** Returns the current state, for each beat. The name must not change. */
  readonly state: () => AnnouncedState;
  /** Timer; by default a real one. */
  readonly every?: Every;
}

/** Number of beats after which the stored state is rewritten, in case it was deleted. */
const KEEP_BEATS = 300;

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #session = randomUUID();
  readonly #key: string;
  readonly #name: string;
  readonly #ends: (() => void)[];
  #isLeaving = false;
  /** Stored state, as far as known. */
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

  /** Announces the current state at once. */
  beat(): void {
    const text = textOfState(this.#state());
    const isSent = this.#options.connection.publish(this.#key, text);
    this.#beats += 1;
    if (this.#beats % KEEP_BEATS === 0) this.#kept = null;
    if (isSent && !this.#isLeaving && this.#kept !== text) this.#keep(text);
  }

  /** Announces that the worker leaves, and removes its stored state. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    for (const end of this.#ends) end();
    this.beat();
    await this.#keeping;
    if (this.#revision === null) return;
    await this.#options.store.delete(this.#key, this.#revision).catch(() => {
      // While NATS is unreachable, readers of the stored state notice the missing beats.
    });
  }

  #state(): WorkerState {
    const state = this.#options.state();
    return { ...state, name: this.#name, session: this.#session, isLeaving: this.#isLeaving };
  }

  /** Writes sequentially; a failed write is retried with the next beat. */
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

  /**
   * Writes the state, replacing an earlier worker of the same name. @returns null on a conflict.
   */
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
