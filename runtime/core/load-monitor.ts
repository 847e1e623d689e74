/** Measures the load: arrivals over a window that is long enough, in constant memory. */
import { assert } from "./assert.ts";

/** Arrivals in a stretch of time that ends now. */
export interface LoadWindow {
  /** Queries that arrived in it. */
  readonly queries: number;
  /** Its length, above 0 as soon as a query was counted. */
  readonly ms: number;
  /**
   * How many queries a query arrives with, itself included, in the mean over the queries; 1 where
   * each comes by itself. The variance of `queries` is this many times that of a Poisson count.
   */
  readonly clump: number;
}

/** Measurement of the load at one moment. */
export interface MeasuredLoad {
  /** Whether the record is, or once was, long enough to be reliable. */
  readonly isKnown: boolean;
  readonly window: LoadWindow;
  /**
   * The newest half beat, where a burst shows first; the window itself where that is not longer.
   */
  readonly newest: LoadWindow;
  /**
   * If several front ends share the load: the newest half beat of this one alone, scaled as if
   * all saw the same, where a burst shows before the others have reported theirs.
   */
  readonly own?: LoadWindow | undefined;
}

/** Number of buckets per beat in which queries are counted ... */
const BUCKETS = 100;
/**
 * ... and these are the newest, the current one included: half a beat. Source: RAMSIS §6, 500 ms.
 */
const BUCKET_COUNT = 50;
/** A window with fewer arrivals reaches back over this many: noise of 1/8. */
const ARRIVAL_COUNT = 64;
/** Arrivals whose times are kept: a power of two above `ARRIVAL_COUNT`. */
const RING_SIZE = 128;
const RING_MASK = RING_SIZE - 1;
/** Shortest length of a record: several queries may come in one turn of a server. */
const LEAST_WINDOW = 0.001;
/** A record that is shorter, or has fewer arrivals, is not reliable. Both in beats. */
const MIN_WINDOW = 0.05;
const MIN_ARRIVALS = 8;
/**
 * Numbers of newest arrivals that are compared with the rest: this one, its half and its quarter.
 */
const MOST_COMPARED = 32;
const FEWEST_COMPARED = 8;
/**
 * Standard deviations of an excess and of a shortfall that are taken for a change of the rate.
 * Measured: at 3 a load that lies exactly at a level spends twice as long above it as at 3.5, at 4
 * a rise from 10 to 30 queries/s is seen some ten arrivals later.
 */
const RISE_SIGMAS = 3.5;
const FALL_SIGMAS = 4;

/**
 * Arrival rate over a moving window: half a beat, or the time of the last 64 arrivals where that is
 * longer, since at a few queries per beat that sees one of them or none.
 *
 * The long window is cut to the newest 8, 16 or 32 arrivals when these came at another rate than
 * those before by more than chance explains, so it is as quick as the traffic is. With 64 arrivals
 * or more in half a beat, the window is half a beat and nothing is compared.
 *
 * An arrival is one query, or several at one instant: a client's batch, which says no more about
 * the rate than a single query does. The record begins with the first arrival, which is therefore
 * not counted: over a Poisson process the estimate is unbiased from the start. While the record is
 * shorter than the window, its count is divided by its own length. Times start at 0 or later and
 * must not go back.
 */
export class LoadMonitor implements MeasuredLoad {
  isKnown = false;
  readonly newest: Tally;
  window: LoadWindow;
  readonly #wide: Tally;
  readonly #bucketMs: number;
  readonly #minWindowMs: number;
  /** Queries of each bucket and of all, and the sum of n (n − 1) over the arrivals of n queries. */
  readonly #queriesByBucket = new Float64Array(BUCKET_COUNT);
  readonly #clumpsByBucket = new Float64Array(BUCKET_COUNT);
  #bucketQueries = 0;
  #bucketClumps = 0;
  /** Number of the newest bucket since time 0, not wrapped. */
  #bucket = 0;
  /** Arrival i is at i modulo the size: its time, and the two sums up to and with it. */
  readonly #arrivalMs = new Float64Array(RING_SIZE);
  readonly #queriesUntil = new Float64Array(RING_SIZE);
  readonly #clumpsUntil = new Float64Array(RING_SIZE);
  #queries = 0;
  #clumps = 0;
  /** Number of the newest arrival, −1 before the first. */
  #newestArrival = -1;
  #startMs = Number.NaN;
  /** The arrival with which the record begins: the very first, or the last before a change. */
  #firstArrival = 0;
  #firstMs = Number.NaN;
  #firstQueries = 0;
  #firstClumps = 0;

  constructor(beatMs: number) {
    this.#bucketMs = beatMs / BUCKETS;
    this.#minWindowMs = MIN_WINDOW * beatMs;
    this.newest = new Tally(LEAST_WINDOW * beatMs);
    this.#wide = new Tally(LEAST_WINDOW * beatMs);
    this.window = this.newest;
  }

  /**
   * Counts an arrival.
   * @param queries that it brings, at least one; or how many it is worth, above 0, 1 in the mean.
   */
  recordArrival(nowMs: number, queries = 1): void {
    const slot = ++this.#newestArrival & RING_MASK;
    this.#arrivalMs[slot] = nowMs;
    if (this.#newestArrival === 0) {
      this.#startMs = nowMs;
      this.#firstMs = nowMs;
      this.#bucket = Math.floor(nowMs / this.#bucketMs);
      return;
    }
    this.#advance(nowMs);
    const bucket = this.#bucket % BUCKET_COUNT;
    this.#queriesByBucket[bucket]! += queries;
    this.#bucketQueries += queries;
    this.#queries += queries;
    if (queries !== 1) {
      const clumps = queries * (queries - 1);
      this.#clumpsByBucket[bucket]! += clumps;
      this.#bucketClumps += clumps;
      this.#clumps += clumps;
    }
    this.#queriesUntil[slot] = this.#queries;
    this.#clumpsUntil[slot] = this.#clumps;
    const begin = this.#windowBegin();
    const beginMs = this.#arrivalMs[begin & RING_MASK]!;
    if (nowMs - beginMs >= BUCKET_COUNT * this.#bucketMs) this.#cutAtChange(begin);
  }

  /**
   * Measured arrival rate, queries per second; NaN in the twentieth of a beat after the first
   * arrival.
   */
  loadQps(nowMs: number): number {
    if (!(nowMs - this.#startMs >= this.#minWindowMs)) return Number.NaN;
    this.look(nowMs);
    return (this.window.queries * 1000) / this.window.ms;
  }

  /** Updates `isKnown`, `window` and `newest`. */
  look(nowMs: number): void {
    if (this.#newestArrival < 0) return;
    this.#advance(nowMs);
    const bucketsBeginMs = (Math.floor(nowMs / this.#bucketMs) - BUCKET_COUNT + 1) * this.#bucketMs;
    const newestMs = nowMs - Math.max(bucketsBeginMs, this.#startMs);
    this.newest.set(this.#bucketQueries, this.#bucketClumps, newestMs);
    const begin = this.#windowBegin() & RING_MASK;
    const beginMs = this.#arrivalMs[begin]!;
    if (beginMs <= bucketsBeginMs) {
      this.#widen(this.#queriesUntil[begin]!, this.#clumpsUntil[begin]!, nowMs - beginMs);
    } else if (this.#firstMs > bucketsBeginMs) {
      this.#widen(this.#firstQueries, this.#firstClumps, nowMs - this.#firstMs);
    } else this.window = this.newest;
    if (this.isKnown || this.#newestArrival < MIN_ARRIVALS) return;
    this.isKnown = nowMs - this.#startMs >= this.#minWindowMs;
  }

  /** Sets the window to what came after this many queries and clumps. */
  #widen(queries: number, clumps: number, ms: number): void {
    this.window = this.#wide;
    this.#wide.set(this.#queries - queries, this.#clumps - clumps, ms);
  }

  /** The arrival after which the window begins where it is longer than the buckets. */
  #windowBegin(): number {
    return Math.max(this.#firstArrival, this.#newestArrival - ARRIVAL_COUNT);
  }

  /** Lets the record begin where the rate changed, if it did. @param begin of the window. */
  #cutAtChange(begin: number): void {
    const arrivalMs = this.#arrivalMs;
    const newest = this.#newestArrival;
    for (let compared = MOST_COMPARED; compared >= FEWEST_COMPARED; compared /= 2) {
      const middle = newest - compared;
      if (middle <= begin) continue;
      const middleMs = arrivalMs[middle & RING_MASK]!;
      const newerMs = arrivalMs[newest & RING_MASK]! - middleMs;
      const olderMs = middleMs - arrivalMs[begin & RING_MASK]!;
      // When within a bucket an arrival came is up to the event loop as much as to the client.
      // The newest arrival is why the count is taken now, so it is no evidence.
      if (!hasChanged(compared - 1, Math.max(newerMs, this.#bucketMs), middle - begin, olderMs))
        continue;
      this.#firstArrival = middle;
      this.#firstMs = middleMs;
      this.#firstQueries = this.#queriesUntil[middle & RING_MASK]!;
      this.#firstClumps = this.#clumpsUntil[middle & RING_MASK]!;
      return;
    }
  }

  /** Empties the buckets that have left the newest half beat. */
  #advance(nowMs: number): void {
    const newest = Math.floor(nowMs / this.#bucketMs);
    assert(newest >= this.#bucket, "time does not go back");
    const firstStale = newest - this.#bucket > BUCKET_COUNT ? newest - BUCKET_COUNT : this.#bucket;
    for (let bucket = firstStale + 1; bucket <= newest; bucket++) {
      const slot = bucket % BUCKET_COUNT;
      this.#bucketQueries -= this.#queriesByBucket[slot]!;
      this.#bucketClumps -= this.#clumpsByBucket[slot]!;
      this.#queriesByBucket[slot] = 0;
      this.#clumpsByBucket[slot] = 0;
    }
    this.#bucket = newest;
  }
}

class Tally implements LoadWindow {
  queries = 0;
  ms = 0;
  clump = 1;
  readonly #leastMs: number;

  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  set(queries: number, clumps: number, ms: number): void {
    this.queries = queries;
    this.ms = Math.max(ms, this.#leastMs);
    this.clump = clumps > 0 ? (queries + clumps) / queries : 1;
  }
}

/**
 * Whether one Poisson process would not give two such counts in succession. With their sum given,
 * the newer count is binomial, by the shares of time; its quantile is that of Cornish and Fisher
 * with the skewness, without which eight arrivals in short succession would be no rare event.
 */
function hasChanged(newer: number, newerMs: number, older: number, olderMs: number): boolean {
  const share = newerMs / (newerMs + olderMs);
  const mean = (newer + older) * share;
  const sigmas = newer > mean ? RISE_SIGMAS : -FALL_SIGMAS;
  const skewness = ((1 - 2 * share) * (sigmas * sigmas - 1)) / 6;
  const limit = mean + sigmas * Math.sqrt(mean * (1 - share)) + skewness;
  return newer > mean ? newer > limit : newer < limit;
}
