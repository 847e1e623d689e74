/** The requests that feedback may come for: the latest ones, for a time, and not too many. */
import type { Prediction } from "./predictions.ts";

export interface AnsweredRows {
  /** Who answered each row. */
  readonly variants: readonly string[];
  /** Of each row; undefined where the answer is no class. */
  readonly predictions: readonly Prediction[] | undefined;
}

interface Kept {
  readonly key: string;
  readonly atMs: number;
  readonly rows: number;
  /** Undefined once feedback was given. */
  answered: AnsweredRows | undefined;
}

/** Entries that the queue may have beside twice those that are kept. */
const SLACK = 64;

export class AnsweredRequests {
  readonly #byAsker = new Map<string, Kept>();
  /**
   * In the order in which they were answered, from `#first` on; some are forgotten already. A map
   * alone would be slow: its first entry lies behind all that were deleted before it.
   */
  #queue: Kept[] = [];
  #first = 0;
  readonly #maxRows: number;
  readonly #keptMs: number;
  #rows = 0;

  /** @param maxRows of all requests. @param keptMs how long each is kept. */
  constructor(maxRows: number, keptMs: number) {
    this.#maxRows = maxRows;
    this.#keptMs = keptMs;
  }

  get rows(): number {
    return this.#rows;
  }

  /** A request of the same id takes the place of the one before. */
  keep(asker: Asker, answered: AnsweredRows, nowMs: number): void {
    const key = keyOf(asker);
    const known = this.#byAsker.get(key);
    if (known !== undefined) this.#forget(known);
    const rows = answered.variants.length;
    if (rows > this.#maxRows) return;
    const kept = { key, atMs: nowMs, rows, answered };
    this.#byAsker.set(key, kept);
    this.#queue.push(kept);
    this.#rows += rows;
    this.#forgetOld(nowMs);
  }

  /** @returns undefined of one that is not known, or no more; null where feedback was given. */
  find(asker: Asker, nowMs: number): AnsweredRows | null | undefined {
    this.#forgetOld(nowMs);
    const kept = this.#byAsker.get(keyOf(asker));
    return kept === undefined ? undefined : (kept.answered ?? null);
  }

  /** Feedback was given: more of it is not taken. */
  settle(asker: Asker): void {
    const kept = this.#byAsker.get(keyOf(asker));
    if (kept !== undefined) kept.answered = undefined;
  }

  #forgetOld(nowMs: number): void {
    for (; this.#first < this.#queue.length; this.#first++) {
      const kept = this.#queue[this.#first];
      if (kept === undefined || !this.#isKept(kept)) continue;
      if (this.#rows <= this.#maxRows && nowMs - kept.atMs <= this.#keptMs) break;
      this.#forget(kept);
    }
    const { size } = this.#byAsker;
    if (this.#queue.length <= 2 * size + SLACK) return;
    this.#queue = this.#queue.slice(this.#first).filter((kept) => this.#isKept(kept));
    this.#first = 0;
  }

  #isKept(kept: Kept): boolean {
    return this.#byAsker.get(kept.key) === kept;
  }

  #forget({ key, rows }: Kept): void {
    this.#byAsker.delete(key);
    this.#rows -= rows;
  }
}

/** No id has a line break. */
function keyOf({ id, client }: Asker): string {
  return `${id}\n${client}`;
}

export interface Asker {
  readonly id: string;
  /** Name of the client's token; empty where it has shown none. */
  readonly client: string;
}
