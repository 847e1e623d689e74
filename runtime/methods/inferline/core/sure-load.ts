/**
 * Estimates the load that recent traffic certainly has, by the sample that a plan was made with.
 */
import type { InferlineLevel } from "../../../bundle/schema.ts";

/** Chance variation of a level's own traffic, and the slack before it counts as another load. */
interface SlackOptions {
  /** Variance over mean of the requests in a window. */
  readonly dispersion: number;
  /** Standard deviations of a window's count above the most of the sample. */
  readonly slack: number;
}

/**
 * The load that counts of windows surely are, or surely are not more than, as a ratio to the load
 * of a level.
 *
 * At a load that is r times the level's, a window that holds m requests of the level in the mean
 * holds r m, and at most about r m + c √(r m) of them: c is what the fullest such window of the
 * sample lies above its mean, in roots of that, and the slack besides. The least r that allows for
 * a count is what the count is sure of, and the largest over all windows what the traffic is sure
 * of. Traffic as in the sample gives 1 or less, however long it is looked at. The other way, the
 * longest window has a slack as well: what lies above its count by as many deviations is surely
 * enough. In between the traffic may be the level's own.
 */
export class SureLoad {
  /** [windowCount]: most requests of the sample in a window; NaN below its shortest. */
  readonly sampleRequests: Float64Array;
  /** [windowCount]: requests of the level in a window, in the mean ... */
  readonly #meanRequests: Float64Array;
  /** ... and c. */
  readonly #deviations: Float64Array;
  /** The slack alone. */
  readonly #slack: number;

  /** @param windowMs [windowCount], ascending. */
  constructor(level: InferlineLevel, windowMs: Float64Array, { dispersion, slack }: SlackOptions) {
    this.sampleRequests = windowMs.map((ms) => sampleAt(level, ms));
    this.#meanRequests = windowMs.map((ms) => (level.capacityQps * ms) / 1000);
    this.#deviations = this.#meanRequests.map((mean, window) => {
      const above = (this.sampleRequests[window]! - mean) / Math.sqrt(mean);
      return Math.max(above, 0) + slack * Math.sqrt(dispersion);
    });
    this.#slack = slack * Math.sqrt(dispersion);
  }

  /**
   * Returns the ratio that a plan has to carry: the proven one, and at least 1 unless the load is
   * certainly lower.
   * @param counts [windowCount]: most requests in a window of the recent traffic.
   */
  needOf(counts: Uint32Array): number {
    return Math.max(this.ratioOf(counts), Math.min(this.#enoughFor(counts), 1));
  }

  /** Returns the ratio that counts prove. @param counts as above. */
  ratioOf(counts: Uint32Array): number {
    let ratio = 0;
    for (let window = 0; window < counts.length; window++) {
      // One request in a window as short as it likes is a chance, not a rate.
      const count = counts[window]! - 1;
      const own = sureMean(count, this.#deviations[window]!) / this.#meanRequests[window]!;
      if (own > ratio) ratio = own;
    }
    return ratio;
  }

  #enoughFor(counts: Uint32Array): number {
    const last = counts.length - 1;
    const count = counts[last]!;
    return (count + this.#slack * Math.sqrt(count)) / this.#meanRequests[last]!;
  }

  /** Counts that a load of some ratio still allows for. @param limits [windowCount], set here. */
  setLimits(ratio: number, limits: Float64Array): void {
    for (let window = 0; window < limits.length; window++) {
      const deviations = this.#deviations[window]!;
      const mean = ratio * this.#meanRequests[window]!;
      const limit = mean + deviations * Math.sqrt(mean) + 1;
      limits[window] = Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit;
    }
  }
}

/** The least mean m with m + deviations · √m ≥ count. */
export function sureMean(count: number, deviations: number): number {
  if (!(count > 0)) return 0;
  const root = Math.sqrt(count + (deviations * deviations) / 4) - deviations / 2;
  return root * root;
}

/** Returns the most requests of the sample in a window of any length, by linear interpolation. */
function sampleAt({ sample }: InferlineLevel, ms: number): number {
  const windowMs = sample.envelope.windowMs.data;
  const requests = sample.envelope.requests.data;
  if (ms < windowMs[0]!) return Number.NaN;
  let at = 1;
  while (at < windowMs.length - 1 && windowMs[at]! < ms) at++;
  if (at >= windowMs.length) return requests[0]!;
  const [before, after] = [windowMs[at - 1]!, windowMs[at]!];
  const part = (ms - before) / (after - before);
  return requests[at - 1]! + part * (requests[at]! - requests[at - 1]!);
}
