/** Measures the demand, as a mean over beats that forgets. */
import type { SeenLoad } from "../load-share.ts";

/** Weight of the newest count: a span of about five counts. Source: Loki's evaluation code. */
const SMOOTHING = 0.385;
/** At few requests per beat the average covers this many requests. */
const SPAN_REQUESTS = 300;
/**
 * A count that exceeds the average by this many standard deviations of a Poisson count is not
 * noise: the average jumps to the part that is certain.
 */
const JUMP_SIGMAS = 3;
/** A count this many times the average is far too high. */
const LEAP = 2;
/** Shortest part of a beat that gives a rate: requests may come in a bunch. */
const LEAST_PART = 0.25;

/**
 * Demand in requests per second, smoothed exponentially over counts of a beat.
 *
 * Unlike Loki's, the average does not lag behind a burst: it is never below the newest count less
 * three standard deviations, and a count that is already far too high takes effect at once. The
 * first count is taken as it is.
 */
export class DemandMonitor {
  /** NaN until a beat has been counted, unless given at the start. */
  qps: number;
  /** How often `qps` has been set anew. */
  counts = 0;
  /** When the count at hand is complete; infinite before the first request. */
  countEndMs = Number.POSITIVE_INFINITY;
  #count = 0;
  #hasCount = false;
  /** Variance of the mean for each of a count's: its weights, squared. */
  #spread = 1;
  /** Counts that the average is of. */
  #averaged: number;

  readonly #beatMs: number;

  /** @param initialQps demand assumed until it is counted; NaN if unknown. */
  constructor(initialQps: number, beatMs: number) {
    this.qps = initialQps;
    this.#beatMs = beatMs;
    this.#averaged = Number.isNaN(initialQps) ? 0 : 2;
  }

  /** Whether no request has come since the last count. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  recordRequest(nowMs: number): void {
    if (this.countEndMs === Number.POSITIVE_INFINITY) this.countEndMs = nowMs + this.#beatMs;
    this.advance(nowMs);
    this.#count++;
    if (this.#count > LEAP * this.#perBeat) this.#leap(nowMs);
  }

  /** Ends a beat early once it certainly has far more than the average. */
  #leap(nowMs: number): void {
    const sure = sureOf(this.#count);
    if (!(sure > LEAP * this.#perBeat)) return;
    const part = Math.max(LEAST_PART, 1 - (this.countEndMs - nowMs) / this.#beatMs);
    this.qps = (1000 * sure) / (part * this.#beatMs);
    this.#spread = 1 / part;
    this.#averaged = 1;
    this.#count = 0;
    this.counts++;
    this.countEndMs = nowMs + this.#beatMs;
  }

  /** Folds in the beats that are over. */
  advance(nowMs: number): void {
    if (!(nowMs >= this.countEndMs)) return;
    const idle = Math.floor((nowMs - this.countEndMs) / this.#beatMs);
    this.countEndMs += (idle + 1) * this.#beatMs;
    this.#fold(this.#count);
    this.#count = 0;
    this.counts++;
    if (idle > 0) this.qps *= Math.exp(idle * Math.log(1 - this.#weight()));
  }

  /** Standard deviation that `qps` has at a steady demand with Poisson arrivals. */
  get noiseQps(): number {
    return Math.sqrt((1000 * this.qps * this.#spread) / this.#beatMs);
  }

  /** Demand as reported to other front ends; 0 until a beat has been counted. */
  get seen(): SeenLoad {
    if (Number.isNaN(this.qps)) return { qps: 0, variance: 0 };
    return { qps: this.qps, variance: this.noiseQps * this.noiseQps };
  }

  #fold(count: number): void {
    const isFirst = !this.#hasCount && Number.isNaN(this.qps);
    this.#hasCount = true;
    const toQps = 1000 / this.#beatMs;
    const weight = isFirst ? 1 : this.#weight();
    this.#averaged++;
    this.#spread = (1 - weight) * (1 - weight) * this.#spread + weight * weight;
    if (isFirst) this.qps = count * toQps;
    else this.qps += weight * (count * toQps - this.qps);
    const sure = sureOf(count) * toQps;
    if (sure <= this.qps) return;
    this.qps = sure;
    this.#spread = 1;
    this.#averaged = 1;
  }

  get #perBeat(): number {
    return (this.qps * this.#beatMs) / 1000;
  }

  /** Weight of the next count. */
  #weight(): number {
    const steady = Math.min(SMOOTHING, (2 * (this.#perBeat + 1)) / SPAN_REQUESTS);
    return Math.max(steady, 1 / (this.#averaged + 1));
  }
}

/** Lower bound of the mean that a count is of. */
function sureOf(count: number): number {
  return count - JUMP_SIGMAS * Math.sqrt(count);
}
