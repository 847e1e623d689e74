/**
 * What labels, and agreement with the best variant, say of a variant's accuracy. Pure: counts in,
 * an interval out.
 */
import { type Interval, shareInterval } from "./confidence.ts";

/** One minus the chance with which an interval holds at all times at once. */
export const ALPHA = 0.05;

/**
 * Where shadow runs are on, an interval is made of three: of the variant's labels, of the best
 * one's, and of how often they differ. Each may be wrong with a third of the chance.
 */
const PARTS = 3;

export interface LabelCounts {
  readonly correct: number;
  readonly wrong: number;
}

export interface AgreementCounts {
  readonly same: number;
  readonly different: number;
}

/** The variant that others are compared with. */
export interface Best {
  readonly profiled: number;
  readonly labels: LabelCounts;
}

export interface AccuracyEstimate extends Interval {
  /** Null where nothing was observed. */
  readonly estimate: number | null;
}

const UNKNOWN: AccuracyEstimate = { estimate: null, lower: 0, upper: 1 };

/** From labels alone. @param alpha of the interval; left out for the usual one. */
export function labelEstimate(
  { correct, wrong }: LabelCounts,
  alpha: number = ALPHA,
): AccuracyEstimate {
  const asked = correct + wrong;
  if (asked === 0) return UNKNOWN;
  return { estimate: correct / asked, ...shareInterval(correct, wrong, alpha) };
}

/**
 * From how often a variant says the same as the best one. Two variants that say the same are both
 * right or both wrong, so their accuracies differ by no more than the share in which they differ:
 * that bounds the accuracy, whatever the errors are. The estimate within it takes the best one to
 * be as often right where they differ as elsewhere, and a variant that differs from a wrong answer
 * to guess among the other classes.
 * @param classes that answers choose from; undefined where that is not known, and a guess is never
 * right.
 */
export function agreementEstimate(
  { same, different }: AgreementCounts,
  best: Best,
  classes: number | undefined,
  alpha: number = ALPHA / PARTS,
): AccuracyEstimate {
  const asked = same + different;
  if (asked === 0) return UNKNOWN;
  const { estimate: accuracy, lower, upper } = bestEstimate(best, alpha);
  const differs = shareInterval(different, same, alpha).upper;
  const share = same / asked;
  const guess = classes === undefined || classes < 2 ? 0 : 1 / (classes - 1);
  return {
    estimate: accuracy * share + (1 - accuracy) * (1 - share) * guess,
    lower: Math.max(0, lower - differs),
    upper: Math.min(1, upper + differs),
  };
}

/**
 * From both, where shadow runs are on: each interval has its part of the chance to be wrong, so
 * what lies in both holds. Where they contradict each other, labels count.
 */
export function combinedEstimate(
  labels: LabelCounts,
  agreement: AgreementCounts,
  best: Best,
  classes: number | undefined,
): AccuracyEstimate {
  const labelled = labelEstimate(labels, ALPHA / PARTS);
  const agreed = agreementEstimate(agreement, best, classes);
  if (agreed.estimate === null) return labelled;
  if (labelled.estimate === null) return agreed;
  const lower = Math.max(labelled.lower, agreed.lower);
  const upper = Math.min(labelled.upper, agreed.upper);
  if (lower > upper) return labelled;
  const weights = [labelled, agreed].map((one) => {
    const width = one.upper - one.lower;
    return { estimate: one.estimate ?? 0, weight: 1 / (width * width) };
  });
  const sum = weights.reduce((total, { weight }) => total + weight, 0);
  const mean = weights.reduce((total, { estimate, weight }) => total + estimate * weight, 0) / sum;
  return { estimate: Math.min(upper, Math.max(lower, mean)), lower, upper };
}

/** What was profiled, as long as labels do not refute it. */
function bestEstimate(
  { profiled, labels }: Best,
  alpha: number,
): Interval & { readonly estimate: number } {
  const { estimate, lower, upper } = labelEstimate(labels, alpha);
  if (estimate === null || (profiled >= lower && profiled <= upper)) {
    return { estimate: profiled, lower: profiled, upper: profiled };
  }
  return { estimate, lower, upper };
}
