/** Queries of the core that looks on: their names there, and what they are a copy of. */
import type { RecordedEntry } from "../decisions/recorded-entry.ts";

export type OwnState = "waits" | "runs" | "answered" | "gone";

export interface OwnQuery {
  /** By which its own core knows it. */
  readonly name: number;
  /** By which both sides are counted. */
  readonly serial: number;
  readonly deadlineMs: number;
  /** The variant that it asks for, as its core has it; undefined where nobody can ask. */
  wanted: number | undefined;
  readonly sloClass: number | undefined;
  readonly task: number | undefined;
  state: OwnState;
  /** Whether the name of the original is another query's by now. */
  isForgotten: boolean;
  /** What came out of the original before this one was done. */
  held: HeldEntry[];
}

export interface HeldEntry {
  /** In the names of the core that looks on. */
  readonly entry: RecordedEntry;
  /** The query that it hands in; undefined where it hands in none. */
  readonly follower: OwnQuery | undefined;
}

/** Names are numbers below a capacity, and a name is another's once its query is over. */
export class OwnQueries {
  readonly #free: number[];
  readonly #byName = new Map<number, OwnQuery>();
  readonly #byOriginal = new Map<number, OwnQuery>();

  constructor(capacity: number) {
    this.#free = Array.from({ length: capacity }, (_, name) => capacity - 1 - name);
  }

  /** @returns undefined where there is no room. @param original its name in the core that serves. */
  open(original: number, query: Pick<OwnQuery, QueryFacts>): OwnQuery | undefined {
    this.forget(original);
    const name = this.#free.pop();
    if (name === undefined) return undefined;
    const own: OwnQuery = { ...query, name, state: "waits", isForgotten: false, held: [] };
    this.#byName.set(name, own);
    this.#byOriginal.set(original, own);
    return own;
  }

  /** The original's name is free for another. */
  forget(original: number): void {
    const before = this.#byOriginal.get(original);
    if (before === undefined) return;
    before.isForgotten = true;
    this.#byOriginal.delete(original);
    this.#freeIfOver(before);
  }

  ofOriginal(original: number): OwnQuery | undefined {
    return this.#byOriginal.get(original);
  }

  named(name: number): OwnQuery | undefined {
    return this.#byName.get(name);
  }

  /**
   * It is answered, dropped or cancelled. Its name stays its own until that of the original is
   * free, for what comes out of it is known by it.
   */
  settle(query: OwnQuery, state: "answered" | "gone"): void {
    query.state = state;
    this.#freeIfOver(query);
  }

  #freeIfOver(query: OwnQuery): void {
    const isOver = query.state === "answered" || query.state === "gone";
    if (!isOver || !query.isForgotten || this.#byName.get(query.name) !== query) return;
    this.#byName.delete(query.name);
    this.#free.push(query.name);
  }
}

type QueryFacts = "serial" | "deadlineMs" | "wanted" | "sloClass" | "task";
