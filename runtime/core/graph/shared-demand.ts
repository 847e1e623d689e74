/** Demand that one of several front ends plans for, derived from what all of them measure. */
import type { LoadShare } from "../load-share.ts";

/**
 * Standard deviations of the excess from which a front end counts as receiving more than its share,
 * until the excess is gone.
 */
const UNEVEN_SIGMAS = 3;

/**
 * A front end that has k of K workers plans for k/K of the total: all follow the same level then,
 * and the instances of its plan are split as the workers are. The local measurement is noisier, and
 * would be half as far up a range of levels. If clients send more here than to the others, the
 * local measurement is what has to be carried.
 */
export class SharedDemand {
  /** Requests per second; NaN while unknown. */
  qps = Number.NaN;
  /** Standard deviation of it. */
  noiseQps = Number.NaN;
  #share: LoadShare | null = null;
  #isUneven = false;

  follow(share: LoadShare): void {
    this.#share = share;
  }

  /**
   * Updates the demand. @param seenQps local measurement; NaN while unknown. @param noiseQps its
   * standard deviation.
   */
  look(seenQps: number, noiseQps: number): void {
    this.qps = seenQps;
    this.noiseQps = noiseQps;
    const share = this.#share;
    if (share === null || share.othersQps === null) return;
    const { workers, allWorkers, othersQps, othersVariance } = share;
    const isPart = workers > 0 && workers < allWorkers;
    if (!isPart || (Number.isNaN(seenQps) && othersQps === 0)) return;
    const part = workers / allWorkers;
    const left = 1 - part;
    const own = Number.isNaN(seenQps) ? 0 : seenQps;
    const ownVariance = Number.isNaN(noiseQps) ? 0 : noiseQps * noiseQps;
    const evenQps = part * (own + othersQps);
    const excessVariance = left * left * ownVariance + part * part * othersVariance;
    const limit = this.#isUneven ? 0 : UNEVEN_SIGMAS * Math.sqrt(excessVariance);
    this.#isUneven = own - evenQps > limit;
    if (this.#isUneven) return;
    this.qps = evenQps;
    this.noiseQps = part * Math.sqrt(ownVariance + othersVariance);
  }
}
