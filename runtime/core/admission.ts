/** Limit on the queries in a system at once, so that admitted queries are answered in time. */
import { assert } from "./assert.ts";

export interface AdmissionOptions {
  /** Maximum number of queries in the system, whatever the answers say. */
  readonly maxLimit: number;
  /**
   * Workers that serve: while no more queries than these are in, a late one is not due to a crowd.
   */
  readonly workers: number;
  /** Time within which a query must be answered, ms. */
  readonly sloMs: number;
}

/** Default for the maximum number of queries that wait or run. */
export const DEFAULT_MAX_PENDING = 4096;

/** Share of the limit that low-priority queries may fill, where both priorities share one limit. */
export const LOW_SHARE = 0.7;

/** Share of the SLO that an answer should take at most; longer ones lower the limit. */
const TARGET = 0.65;
/** Share of the difference to an answer's estimate that the limit moves by, down and up. */
const FALL = 0.15;
const RISE = 0.02;
/** Smallest share by which an answer in time raises the limit, so that no limit is permanent. */
const RELAX = 0.001;
/** The limit rises to at most this many times the queries that were in the system. */
const REACH = 2;
/**
 * An answer that took more than this share of its SLO caps the limit at BOUND times its estimate.
 */
const BOUNDING_SHARE = 0.2;
const BOUND = 2;
/** Once the system is empty an overload has ended, and this many times the workers may enter. */
const CLEARED = 2;
/** Answers are counted over this many SLOs. */
const WINDOW_SLOS = 10;

/**
 * Limit on the queries in a system, waiting or running, derived from how long answers take.
 *
 * A query that found n in the system, itself included, and took the share r of its SLO estimates
 * the right limit as n · TARGET / r, by Little's law. The limit moves towards that estimate, faster
 * down than up, so that few admitted queries are late. It starts at the maximum, and falls after
 * answers that took more than TARGET while more queries than workers were in. Earlier answers cap
 * it at twice their estimate, so that it reacts to an overload before a query is late.
 *
 * The limit is never below the number of queries that are answered in TARGET of an SLO at the pace
 * of the last ten SLOs in which queries were in the system: that many are in time however long the
 * last answers took. A machine that pauses for a moment makes a few answers late, but is no slower
 * afterwards. The clock of that pace stands still while the system is empty, so that a rare load
 * does not hide how fast the workers are, and a burst enters that they serve in time.
 *
 * An answer that takes much of its SLO by itself says nothing about a crowd. So the limit forgets
 * what it has learnt as soon as the system is empty.
 *
 * While the load is below capacity, queries are rejected only from a crowd that waits longer than
 * its SLO.
 *
 * A state machine without a clock; it allocates nothing.
 */
export class Admission {
  readonly #maxLimit: number;
  readonly #workers: number;
  readonly #sloMs: number;
  readonly #windowMs: number;
  #limit: number;
  #inside = 0;
  /** Time in which the system was not empty, ms, when it was last empty; and the time of its 0. */
  #busyMs = 0;
  #startMs = 0;
  /** Answers of the window that began at `#fromMs` of the busy time, and of the one before it. */
  #fromMs = 0;
  #answered = 0;
  #answeredBefore = 0;
  /** Length of the window before, ms: 0 in the first window. */
  #beforeMs = 0;
  /** Queries that are answered in TARGET of an SLO, at the pace of the last window. */
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
   * Whether queries that arrive together may enter. They may while the system is empty, and as long
   * as there is a worker for each.
   * @param share of the limit, 0..1, that queries of this priority may fill.
   */
  hasRoom(queries = 1, share = 1): boolean {
    const inside = this.#inside + queries;
    return this.#inside === 0 || inside <= Math.max(this.#workers, share * this.limit);
  }

  /**
   * Admits queries.
   * @param nowMs not before that of an earlier `leave`. @returns how many are in, for `leave`.
   */
  enter(queries: number, nowMs: number): number {
    if (this.#inside === 0) this.#startMs = nowMs - this.#busyMs;
    this.#inside += queries;
    return this.#inside;
  }

  /**
   * Removes queries that were answered, or were too late for an answer.
   * @param found what `enter` returned.
   * @param share of their SLO that they took. @param nowMs not before that of an earlier call.
   */
  leave(queries: number, found: number, share: number, nowMs: number): void {
    this.#count(share < 1 ? queries : 0, nowMs);
    const limit = this.#limit;
    const said = (found * TARGET) / share;
    if (share > BOUNDING_SHARE && found > BOUND * this.#workers && limit > BOUND * said) {
      this.#move(BOUND * said);
    } else if (share > TARGET) {
      if (found > this.#workers && said < limit) this.#move(limit + FALL * (said - limit));
    } else {
      const reached = Math.min(REACH * found, said);
      this.#move(limit + Math.max(RELAX * limit, RISE * (reached - limit)));
    }
    this.forget(queries, nowMs);
  }

  /** Removes queries whose time says nothing: they were cancelled, or failed. */
  forget(queries: number, nowMs: number): void {
    this.#inside -= queries;
    assert(this.#inside >= 0, "only queries in the system can leave");
    if (this.#inside > 0) return;
    this.#busyMs = nowMs - this.#startMs;
    this.#move(Math.max(this.#limit, CLEARED * this.#workers));
  }

  /** Counts over a moving window: the previous window counts by the part that is still inside. */
  #count(answered: number, nowMs: number): void {
    const windowMs = this.#windowMs;
    const busyMs = nowMs - this.#startMs;
    if (busyMs - this.#fromMs >= windowMs) {
      const isNext = busyMs - this.#fromMs < 2 * windowMs;
      this.#answeredBefore = isNext ? this.#answered : 0;
      this.#answered = 0;
      this.#beforeMs = windowMs;
      this.#fromMs = isNext ? this.#fromMs + windowMs : busyMs;
    }
    this.#answered += answered;
    const passedMs = busyMs - this.#fromMs;
    const left = 1 - passedMs / windowMs;
    const countedMs = passedMs + left * this.#beforeMs;
    const count = this.#answered + left * this.#answeredBefore;
    this.#carried = countedMs > 0 ? (TARGET * this.#sloMs * count) / countedMs : 0;
  }

  #move(limit: number): void {
    this.#limit = Math.min(this.#maxLimit, Math.max(1, limit));
  }
}
