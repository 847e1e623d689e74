/** Counts the requests of each of the last seconds. */
import { HISTORY_SECONDS } from "./forecasters.ts";

/** Arrivals are counted in parts of a second, so that a rise shows before a second is over. */
const BUCKET_MS = 100;
const BUCKETS_PER_SECOND = 1000 / BUCKET_MS;
/** One second more than is looked at, for the bucket that is being filled. */
const BUCKET_COUNT = (HISTORY_SECONDS + 1) * BUCKETS_PER_SECOND;
/** Sums of times that should end a bucket may come out a little before its end. */
const ROUNDING = 1e-6;

/** How many requests came in each of the last seconds. Pure: times are arguments, in order. */
export class RateHistory {
  /**
   * [HISTORY_SECONDS]: requests per second, oldest first, as of the last `advance`; NaN for seconds
   * before the first request.
   */
  readonly perSecondQps = new Float64Array(HISTORY_SECONDS).fill(Number.NaN);
  /** Ring of counts by bucket; bucket k is at k modulo its length. */
  readonly #counts = new Uint32Array(BUCKET_COUNT);
  /** The bucket that is being filled; the first begins with the first request. */
  #bucket = 0;
  #firstMs = Number.NaN;

  /** Seconds from the first request to the last `advance`, in whole tenths. */
  get knownSeconds(): number {
    return this.#bucket / BUCKETS_PER_SECOND;
  }

  onArrival(nowMs: number): void {
    if (Number.isNaN(this.#firstMs)) this.#firstMs = nowMs;
    this.#moveTo(nowMs);
    this.#counts[this.#bucket % BUCKET_COUNT]!++;
  }

  /** Brings everything up to date; the last second ends now, or a bucket before. */
  advance(nowMs: number): void {
    if (Number.isNaN(this.#firstMs)) return;
    this.#moveTo(nowMs);
    for (let second = 0; second < HISTORY_SECONDS; second++) {
      const to = this.#bucket - (HISTORY_SECONDS - 1 - second) * BUCKETS_PER_SECOND;
      this.perSecondQps[second] = to > 0 ? this.#sum(to - BUCKETS_PER_SECOND, to) : Number.NaN;
    }
  }

  /**
   * Requests per second over a window that ended with the last `advance`, or over what is known of
   * it; NaN if nothing is.
   * @param seconds a whole number of tenths.
   */
  meanQps(seconds: number): number {
    const wanted = Math.round(seconds * BUCKETS_PER_SECOND);
    const known = Math.min(wanted, this.#bucket);
    if (known === 0) return Number.NaN;
    return (this.#sum(this.#bucket - known, this.#bucket) * BUCKETS_PER_SECOND) / known;
  }

  /**
   * Adds up the buckets from one on, the first one ever at the earliest, up to another, exclusive.
   */
  #sum(from: number, to: number): number {
    let sum = 0;
    for (let bucket = Math.max(0, from); bucket < to; bucket++) {
      sum += this.#counts[bucket % BUCKET_COUNT]!;
    }
    return sum;
  }

  #moveTo(nowMs: number): void {
    const bucket = Math.floor((nowMs - this.#firstMs) / BUCKET_MS + ROUNDING);
    const last = Math.min(bucket, this.#bucket + BUCKET_COUNT);
    for (let next = this.#bucket + 1; next <= last; next++) this.#counts[next % BUCKET_COUNT] = 0;
    this.#bucket = Math.max(bucket, this.#bucket);
  }
}
