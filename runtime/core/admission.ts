/** How many queries may be in a system at once, so that who is let in is answered in time. */
import { assert } from "./assert.ts";

export interface AdmissionOptions {
  /** Queries in the system at most, whatever was seen. */
  readonly maxLimit: number;
}

/**
 * Of the SLO, what the answers are to take at most: the limit falls with those that take longer.
 */
const TARGET = 0.8;
/** The share of what an answer says that the limit takes over, when it falls and when it rises. */
const FALL = 0.15;
const RISE = 0.02;
/** Without news the limit rises by this share with an answer, so that nothing is held for ever. */
const RELAX = 0.001;
/** An answer says what would be right at most for so many times the queries that it saw. */
const REACH = 2;
/** With so few in the system a late answer is not for waiting, and says nothing of the limit. */
const FEW = 4;

/**
 * A limit on the queries in a system, waiting or running, by how long the answers take.
 *
 * A query that found n in the system, itself included, and took the share r of its SLO says that
 * n · TARGET / r would have been right, by Little's law. The limit goes towards that, faster down
 * than up, so that few of those who are let in are late. It begins where nothing is refused and
 * falls only after answers that took more than TARGET of their SLO while others were in the system:
 * where load is below capacity nobody is refused.
 *
 * A state machine without a clock; nothing is allocated.
 */
export class Admission {
  readonly #maxLimit: number;
  #limit: number;
  #inside = 0;

  constructor({ maxLimit }: AdmissionOptions) {
    assert(maxLimit > 0, "a limit lets at least one query in");
    this.#maxLimit = maxLimit;
    this.#limit = maxLimit;
  }

  /** Queries in the system. */
  get inside(): number {
    return this.#inside;
  }

  /** Queries in the system at most, 1 at least. */
  get limit(): number {
    return this.#limit;
  }

  /** @param share of the limit, 0..1, that queries of a lesser kind may fill. */
  hasRoom(share = 1): boolean {
    return this.#inside === 0 || this.#inside < share * this.#limit;
  }

  /** Queries come in. @returns how many are in then, to be told when they leave. */
  enter(queries: number): number {
    this.#inside += queries;
    return this.#inside;
  }

  /**
   * Queries leave, with an answer or because they were too late for one.
   * @param found what `enter` returned.
   * @param share of their SLO that they took.
   */
  leave(queries: number, found: number, share: number): void {
    this.forget(queries);
    if (share > TARGET) {
      const right = (found * TARGET) / share;
      if (found > FEW && right < this.#limit) this.#move(FALL * (right - this.#limit));
    } else if (2 * found >= this.#limit) {
      const right = Math.min(REACH * found, (found * TARGET) / Math.max(share, TARGET / REACH));
      this.#move(RISE * Math.max(0, right - this.#limit));
    } else this.#move(RELAX * this.#limit);
  }

  /** Queries leave, and how long they took says nothing: they were cancelled, or failed. */
  forget(queries: number): void {
    this.#inside -= queries;
    assert(this.#inside >= 0, "who leaves was in");
  }

  #move(by: number): void {
    this.#limit = Math.min(this.#maxLimit, Math.max(1, this.#limit + by));
  }
}
