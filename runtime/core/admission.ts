/** How many queries may be in a system at once, so that who is let in is answered in time. */
import { assert } from "./assert.ts";

export interface AdmissionOptions {
  /** Queries in the system at most, whatever was seen. */
  readonly maxLimit: number;
  /** Who serves: while no more queries are in than these, a late one is late by itself. */
  readonly workers: number;
  /** Time in which answers are to be there, ms. */
  readonly sloMs: number;
}

/** Queries that wait or run at most, unless a server is told another limit. */
export const DEFAULT_MAX_PENDING = 4096;

/** Of what may be in, what queries of low priority may fill, where both make the same crowd. */
export const LOW_SHARE = 0.7;

/**
 * Of the SLO, what the answers are to take at most: the limit falls with those that take longer.
 */
const TARGET = 0.65;
/** The share of what an answer says that the limit takes over, when it falls and when it rises. */
const FALL = 0.15;
const RISE = 0.02;
/** With an answer in time the limit rises by this share at least: nothing is held for ever. */
const RELAX = 0.001;
/** The limit rises to so many times the queries that were in at most. */
const REACH = 2;
/** An answer that took so much of its SLO bounds the limit, by so many times what it says. */
const TOLD = 0.2;
const BOUND = 2;
/** Once nobody is in, an overload has ended: so many times the workers may come again. */
const CLEARED = 2;
/** Answers are counted over so many SLOs. */
const WINDOW_SLOS = 10;

/**
 * A limit on the queries in a system, waiting or running, by how long the answers take.
 *
 * A query that found n in the system, itself included, and took the share r of its SLO says that
 * n · TARGET / r would have been right, by Little's law. The limit goes towards that, faster down
 * than up, so that few of those who are let in are late. It begins where nobody is refused, and
 * falls after answers that took more than TARGET while more were in than workers. Earlier answers
 * bound it by twice what they say, so that an overload is met before anybody is late.
 *
 * Whoever is let in while no more are in than are answered in TARGET of an SLO, at the pace of the
 * last ten SLOs, is in time however long the last answers took: the limit is never below that. A
 * machine that stood still for a moment makes a few answers late, and is no slower afterwards.
 *
 * Where an answer takes much of its SLO by itself, what it says is of itself and not of a crowd. So
 * the limit forgets what it has learnt as soon as nobody is in: there is no crowd then.
 *
 * Where load is below capacity nobody is refused but in a crowd that waits longer than its SLO.
 *
 * A state machine without a clock; nothing is allocated.
 */
export class Admission {
  readonly #maxLimit: number;
  readonly #workers: number;
  readonly #sloMs: number;
  readonly #windowMs: number;
  #limit: number;
  #inside = 0;
  /** Answers of the window that began then, and of the one before it. */
  #fromMs = Number.NEGATIVE_INFINITY;
  #answered = 0;
  #answeredBefore = 0;
  /** Queries that are answered in TARGET of an SLO. */
  #carried = 0;

  constructor({ maxLimit, workers, sloMs }: AdmissionOptions) {
    assert(maxLimit > 0, "a limit lets at least one query in");
    this.#maxLimit = maxLimit;
    this.#workers = workers;
    this.#sloMs = sloMs;
    this.#windowMs = WINDOW_SLOS * sloMs;
    this.#limit = maxLimit;
  }

  /** Queries in the system. */
  get inside(): number {
    return this.#inside;
  }

  /** Queries in the system at most, 1 at least. */
  get limit(): number {
    return Math.min(this.#maxLimit, Math.max(this.#limit, this.#carried));
  }

  /**
   * Whether queries that come together may come in; where nobody is in, they may, and as long as
   * there is a worker for each.
   * @param share of the limit, 0..1, that queries of a lesser kind may fill.
   */
  hasRoom(queries = 1, share = 1): boolean {
    const inside = this.#inside + queries;
    return this.#inside === 0 || inside <= Math.max(this.#workers, share * this.limit);
  }

  /** Queries come in. @returns how many are in then, to be told when they leave. */
  enter(queries: number): number {
    this.#inside += queries;
    return this.#inside;
  }

  /**
   * Queries leave, with an answer or because they were too late for one.
   * @param found what `enter` returned.
   * @param share of their SLO that they took. @param nowMs never before that of another call.
   */
  leave(queries: number, found: number, share: number, nowMs: number): void {
    this.#count(share < 1 ? queries : 0, nowMs);
    const limit = this.#limit;
    const said = (found * TARGET) / share;
    if (share > TOLD && found > BOUND * this.#workers && limit > BOUND * said) {
      this.#move(BOUND * said);
    } else if (share > TARGET) {
      if (found > this.#workers && said < limit) this.#move(limit + FALL * (said - limit));
    } else {
      const reached = Math.min(REACH * found, said);
      this.#move(limit + Math.max(RELAX * limit, RISE * (reached - limit)));
    }
    this.forget(queries);
  }

  /** Queries leave, and how long they took says nothing: they were cancelled, or failed. */
  forget(queries: number): void {
    this.#inside -= queries;
    assert(this.#inside >= 0, "who leaves was in");
    if (this.#inside === 0) this.#move(Math.max(this.#limit, CLEARED * this.#workers));
  }

  /** A count over a window that moves: what is left of the one before counts by its part. */
  #count(answered: number, nowMs: number): void {
    const windowMs = this.#windowMs;
    const passedMs = nowMs - this.#fromMs;
    if (passedMs >= 2 * windowMs) {
      this.#answered = 0;
      this.#answeredBefore = 0;
      this.#fromMs = nowMs;
    } else if (passedMs >= windowMs) {
      this.#answeredBefore = this.#answered;
      this.#answered = 0;
      this.#fromMs += windowMs;
    }
    this.#answered += answered;
    const left = 1 - (nowMs - this.#fromMs) / windowMs;
    const each = (this.#answered + left * this.#answeredBefore) / windowMs;
    this.#carried = TARGET * this.#sloMs * each;
  }

  #move(limit: number): void {
    this.#limit = Math.min(this.#maxLimit, Math.max(1, limit));
  }
}
