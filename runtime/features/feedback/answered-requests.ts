/** Recently answered requests that feedback can refer to, bounded in time and number. */
import type { Prediction } from "../../server/tensors/predictions.ts";

export interface AnsweredRows {
  readonly variants: readonly string[];
  /** Prediction per row; undefined if the answer is no class. */
  readonly predictions: readonly Prediction[] | undefined;
}

interface Kept {
  readonly key: string;
  readonly atMs: number;
  readonly rows: number;
  /** Undefined once feedback was received. */
  answered: AnsweredRows | undefined;
}

/**
 * Memory of a kept request and of each of its rows, bytes of resident memory. Of a request of one
 * row V8 keeps 500 bytes; three times as much is resident, since objects that live for an hour are
 * freed by major collections only (measured with 65,536 requests on Node 20).
 */
const REQUEST_BYTES = 1600;
const ROW_BYTES = 96;
/** Upper bound of the memory per row that is kept. */
export const KEPT_ROW_BYTES = REQUEST_BYTES + ROW_BYTES;

/** Forgotten entries that the queue may hold in addition to as many as are kept. */
const SLACK = 64;

export class AnsweredRequests {
  readonly #byAsker = new Map<string, Kept>();
  /**
   * Entries in the order of their answers, from `#first`; some are already forgotten. A map alone
   * would be slow: reaching its first entry means to skip all that were deleted before it.
   */
  #queue: Kept[] = [];
  #first = 0;
  readonly #maxRows: number;
  readonly #retentionMs: number;
  #rows = 0;

  /** @param maxRows over all requests. @param retentionMs how long each is kept. */
  constructor(maxRows: number, retentionMs: number) {
    this.#maxRows = maxRows;
    this.#retentionMs = retentionMs;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Resident memory of what is kept, estimated. */
  get bytes(): number {
    return this.#byAsker.size * REQUEST_BYTES + this.#rows * ROW_BYTES;
  }

  /** Keeps a request, replacing an earlier one with the same id. */
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

  /** @returns undefined if unknown or expired; null if it already has feedback. */
  find(asker: Asker, nowMs: number): AnsweredRows | null | undefined {
    this.#forgetOld(nowMs);
    const kept = this.#byAsker.get(keyOf(asker));
    return kept === undefined ? undefined : (kept.answered ?? null);
  }

  /** Marks a request as having feedback; further feedback is rejected. */
  settle(asker: Asker): void {
    const kept = this.#byAsker.get(keyOf(asker));
    if (kept !== undefined) kept.answered = undefined;
  }

  #forgetOld(nowMs: number): void {
    for (; this.#first < this.#queue.length; this.#first++) {
      const kept = this.#queue[this.#first];
      if (kept === undefined || !this.#isKept(kept)) continue;
      if (this.#rows <= this.#maxRows && nowMs - kept.atMs <= this.#retentionMs) break;
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

/** Joins with a line break, which ids cannot contain. */
function keyOf({ id, client }: Asker): string {
  return `${id}\n${client}`;
}

export interface Asker {
  readonly id: string;
  /** Name of the client's token; empty for clients without one. */
  readonly client: string;
}
