/**
 * How many queries come between two decisions of one fast server: a count of a mean, in few
 * outcomes.
 */
import { negativeBinomialWindow } from "../../../../numeric/negative-binomial.ts";
import { type PmfWindow, poissonWindow } from "../../../../numeric/poisson.ts";

/** Neighbouring counts, by their mean. */
export interface GapOutcome {
  readonly count: number;
  /** Probability. */
  readonly weight: number;
}

/**
 * A group of counts has at least this probability, none and one excepted: an empty queue is another
 * state.
 */
const LEAST_WEIGHT = 0.16;
const NEGLIGIBLE = 1e-7;

/**
 * @param dispersion variance over mean, at least 1.
 * @returns weights that sum to 1, and the mean of the count.
 */
export function gapOutcomes(
  gapMs: number,
  arrivalsPerMs: number,
  dispersion: number,
): GapOutcome[] {
  const { first, pmf } = counts(arrivalsPerMs * gapMs, dispersion);
  const outcomes: GapOutcome[] = [];
  let [weight, sum] = [0, 0];
  pmf.forEach((probability, index) => {
    const count = first + index;
    weight += probability;
    sum += count * probability;
    const isLast = index === pmf.length - 1;
    if (!isLast && count > 0 && weight < LEAST_WEIGHT) return;
    outcomes.push({ count: sum / weight, weight });
    [weight, sum] = [0, 0];
  });
  return outcomes;
}

function counts(mean: number, dispersion: number): PmfWindow {
  return dispersion > 1
    ? negativeBinomialWindow(mean, dispersion, NEGLIGIBLE)
    : poissonWindow(mean, NEGLIGIBLE);
}
