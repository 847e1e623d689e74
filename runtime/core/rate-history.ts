/** Counts the requests of each of the last beats. */
import { HISTORY_BEATS } from "./forecasters.ts";

/** Arrivals are counted in parts of a beat, so that a rise shows before a beat is over. */
const BUCKETS = 40;
/** One beat more than the history, for the bucket that is being filled. */
const BUCKET_COUNT = (HISTORY_BEATS + 1) * BUCKETS;
/** Sums of times that should end a bucket may come out a little before its end. */
const ROUNDING = 1e-6;

/** Counts the requests of each of the last beats. Pure: times are arguments, in order. */
export class RateHistory {
  /**
   * [HISTORY_BEATS]: requests of each beat, oldest first, as of the last `advance`; NaN for beats
   * before the first request.
   */
  readonly perBeat = new Float64Array(HISTORY_BEATS).fill(Number.NaN);
  /** Ring: requests before each bucket; bucket k is at k modulo its length. */
  readonly #before = new Float64Array(BUCKET_COUNT);
  #requests = 0;
  /** Bucket that is being filled; the first begins with the first request. */
  #bucket = 0;
  #firstMs = Number.NaN;
  readonly #bucketMs: number;

  constructor(beatMs: number) {
    this.#bucketMs = beatMs / BUCKETS;
  }

  /** Beats from the first request to the last `advance`, in whole fortieths. */
  get knownBeats(): number {
    return this.#bucket / BUCKETS;
  }

  onArrival(nowMs: number): void {
    if (Number.isNaN(this.#firstMs)) this.#firstMs = nowMs;
    this.#moveTo(nowMs);
    this.#requests++;
  }

  /** Brings everything up to date; the last beat ends now, or a bucket before. */
  advance(nowMs: number): void {
    if (Number.isNaN(this.#firstMs)) return;
    this.#moveTo(nowMs);
    for (let beat = 0; beat < HISTORY_BEATS; beat++) {
      const to = this.#bucket - (HISTORY_BEATS - 1 - beat) * BUCKETS;
      this.perBeat[beat] = to > 0 ? this.#sum(to - BUCKETS, to) : Number.NaN;
    }
  }

  /**
   * Returns requests per beat over a window that ended with the last `advance`, or over its known
   * part; NaN if nothing is known.
   * @param beats a whole number of fortieths.
   */
  meanOver(beats: number): number {
    const wanted = Math.round(beats * BUCKETS);
    const known = Math.min(wanted, this.#bucket);
    if (known === 0) return Number.NaN;
    return (this.#sum(this.#bucket - known, this.#bucket) * BUCKETS) / known;
  }

  /** Requests from one bucket on, the first one ever at the earliest, until another begins. */
  #sum(from: number, to: number): number {
    const before = this.#before;
    return before[to % BUCKET_COUNT]! - before[Math.max(0, from) % BUCKET_COUNT]!;
  }

  #moveTo(nowMs: number): void {
    const bucket = Math.floor((nowMs - this.#firstMs) / this.#bucketMs + ROUNDING);
    const last = Math.min(bucket, this.#bucket + BUCKET_COUNT);
    for (let next = this.#bucket + 1; next <= last; next++) {
      this.#before[next % BUCKET_COUNT] = this.#requests;
    }
    this.#bucket = Math.max(bucket, this.#bucket);
  }
}
