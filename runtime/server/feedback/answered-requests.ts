/** The requests that feedback may come for: the latest ones, for a time, and not too many. */
import type { Asker } from "../requests/asker.ts";
import type { Prediction } from "./predictions.ts";

export interface AnsweredRows {
  /** Who answered each row. */
  readonly variants: readonly string[];
  /** Of each row; undefined where the answer is no class. */
  readonly predictions: readonly Prediction[] | undefined;
}

interface Kept {
  readonly atMs: number;
  readonly rows: number;
  /** Undefined once feedback was given. */
  answered: AnsweredRows | undefined;
}

export class AnsweredRequests {
  readonly #byAsker = new Map<string, Kept>();
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
    this.#forget(key);
    const rows = answered.variants.length;
    if (rows > this.#maxRows) return;
    this.#byAsker.set(key, { atMs: nowMs, rows, answered });
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
    for (const [key, { atMs }] of this.#byAsker) {
      if (this.#rows <= this.#maxRows && nowMs - atMs <= this.#keptMs) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const kept = this.#byAsker.get(key);
    if (kept === undefined) return;
    this.#byAsker.delete(key);
    this.#rows -= kept.rows;
  }
}

/** No id has a line break. */
function keyOf({ id, client }: Asker): string {
  return `${id}\n${client}`;
}
