/**
 * PF(k, T) of RAMSIS §3.1.1: distribution of the number of arrivals in an interval, in the form
 * that the transitions need.
 *
 * Like the paper (§4.4.2), counts over disjoint intervals are assumed independent. That is exact
 * for Poisson arrivals. A renewal process of gaps with squared coefficient of variation cv² > 1 has
 * counts whose variance over mean tends to cv² as the interval grows; here they are negative
 * binomial with just that dispersion over every interval, the process of independent increments
 * with these first two moments. Approximations: intervals of only a few gaps (there the renewal
 * process is closer to Poisson), and the dependence of adjacent intervals through the gap that
 * spans them. Below cv² = 1 no process of independent increments is as regular, so arrivals count
 * as Poisson, which overestimates bursts.
 */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import {
  negativeBinomialPhaseWeights,
  negativeBinomialWindow,
} from "../../../numeric/negative-binomial.ts";
import { type PmfWindow, phaseWeights, poissonWindow } from "../../../numeric/poisson.ts";

export interface ArrivalCounts {
  /** Probabilities of the counts in `ms` milliseconds. */
  window(ms: number): PmfWindow;
  /**
   * weight[q] = P[base + q arrivals in `ms` milliseconds | base … base + weight.length − 1
   * arrivals]; overwritten.
   */
  phaseWeights(base: number, ms: number, weight: Float64Array): void;
}

/** Smaller probabilities are left out of the rows, which have a hundred entries or so. */
export const NEGLIGIBLE = 1e-15;

/** @param dispersion variance over mean of the counts; Poisson up to 1. */
export function arrivalCounts(ratePerMs: number, dispersion: number): ArrivalCounts {
  if (dispersion > 1) {
    return {
      window: (ms) => negativeBinomialWindow(ratePerMs * ms, dispersion, NEGLIGIBLE),
      phaseWeights: (base, ms, weight) =>
        negativeBinomialPhaseWeights(base, ratePerMs * ms, dispersion, weight),
    };
  }
  return {
    window: (ms) => poissonWindow(ratePerMs * ms, NEGLIGIBLE),
    phaseWeights: (base, ms, weight) => phaseWeights(base, ratePerMs * ms, weight),
  };
}

/**
 * Windows whose counts are compared with each other; a slower change of the rate counts as load,
 * not as bursts.
 */
const WINDOWS_PER_BLOCK = 10;

/** Variance over mean of the counts that a policy is made for. */
export function dispersionOfModel(arrivals: RamsisBundle["arrivals"]): number {
  if (arrivals.process === "gamma") return arrivals.cv2;
  return arrivals.process === "trace" ? arrivals.dispersion : 1;
}

/**
 * Dispersion of recorded arrivals: variance over mean of the counts in windows of `windowMs`,
 * within blocks of ten windows. 1 if there are too few arrivals.
 * @param arrivalMs non-decreasing, in ms from 0.
 */
export function dispersionOf(arrivalMs: Float64Array, windowMs: number): number {
  const endMs = arrivalMs[arrivalMs.length - 1] ?? 0;
  const blockCount = Math.floor(endMs / (windowMs * WINDOWS_PER_BLOCK));
  const counts = new Float64Array(WINDOWS_PER_BLOCK);
  let block = -1;
  let variance = 0;
  let mean = 0;
  // Blocks without arrivals add nothing, and a recorded year may have many.
  const addBlock = (): void => {
    const ownMean = counts.reduce((a, b) => a + b, 0) / WINDOWS_PER_BLOCK;
    mean += ownMean;
    variance += counts.reduce((sum, c) => sum + (c - ownMean) ** 2, 0) / (WINDOWS_PER_BLOCK - 1);
    counts.fill(0);
  };
  for (const ms of arrivalMs) {
    const window = Math.floor(ms / windowMs);
    const own = Math.floor(window / WINDOWS_PER_BLOCK);
    if (own >= blockCount) break;
    if (own !== block) addBlock();
    block = own;
    const at = window - own * WINDOWS_PER_BLOCK;
    counts[at] = (counts[at] ?? 0) + 1;
  }
  addBlock();
  return mean > 0 ? variance / mean : 1;
}
