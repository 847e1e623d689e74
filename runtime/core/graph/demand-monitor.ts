/** Measures the demand, as a mean over seconds that forgets. */
import type { SeenLoad } from "../load-share.ts";

/** Requests are counted over this time each; routing is set anew as often. */
const HEARTBEAT_MS = 1000;
/** Weight of the newest count: a span of about five counts. Source: Loki's evaluation code. */
const SMOOTHING = 0.385;
/** What a second without requests leaves of the average, as a logarithm. */
const LOG_KEPT = Math.log(1 - SMOOTHING);
/**
 * A count that exceeds the average by this many standard deviations of a Poisson count is not
 * noise: the average jumps to what is sure of it.
 */
const JUMP_SIGMAS = 3;

/**
 * Demand in requests per second, smoothed exponentially over counts of a second.
 *
 * Unlike Loki's, the average does not lag behind a burst: it is never below the newest count less
 * three standard deviations. The first count stands for itself.
 */
export class DemandMonitor {
  /** NaN until a second has been counted, unless it is said at the start. */
  qps: number;
  /** How often `qps` has been set anew. */
  counts = 0;
  /** When the count at hand is complete; infinite before the first request. */
  countEndMs = Number.POSITIVE_INFINITY;
  #count = 0;
  #hasCount = false;

  /** @param initialQps what to take the demand for until it is counted; NaN if nothing is known. */
  constructor(initialQps: number) {
    this.qps = initialQps;
  }

  recordRequest(nowMs: number): void {
    if (this.countEndMs === Number.POSITIVE_INFINITY) this.countEndMs = nowMs + HEARTBEAT_MS;
    this.advance(nowMs);
    this.#count++;
  }

  /** Folds in the seconds that are over. */
  advance(nowMs: number): void {
    if (!(nowMs >= this.countEndMs)) return;
    const seconds = Math.floor((nowMs - this.countEndMs) / HEARTBEAT_MS);
    this.countEndMs += (seconds + 1) * HEARTBEAT_MS;
    this.#fold(this.#count);
    this.#count = 0;
    this.counts++;
    if (seconds > 0) this.qps *= Math.exp(seconds * LOG_KEPT);
  }

  /** Standard deviation that `qps` has at a steady demand with Poisson arrivals. */
  get noiseQps(): number {
    return Math.sqrt((this.qps * SMOOTHING) / (2 - SMOOTHING));
  }

  /** What there is to tell others; nothing until a second has been counted. */
  get seen(): SeenLoad {
    if (Number.isNaN(this.qps)) return { qps: 0, variance: 0 };
    return { qps: this.qps, variance: this.noiseQps * this.noiseQps };
  }

  #fold(count: number): void {
    const isFirst = !this.#hasCount && Number.isNaN(this.qps);
    this.#hasCount = true;
    if (isFirst) this.qps = count;
    else this.qps += SMOOTHING * (count - this.qps);
    const sure = count - JUMP_SIGMAS * Math.sqrt(count);
    if (sure > this.qps) this.qps = sure;
  }
}
