/** Bounds of the histograms of several methods. */

/** Steps to a doubling: neighbouring bounds are 26 % apart. */
const STEPS = 3;
/** From 2^-10, a thousandth of the SLO, to 2^2, four times the SLO. */
const LEAST_LOG2 = -10;
const MOST_LOG2 = 2;

/**
 * Bounds of times, s. The SLO is one of them, so that the share above it is exact; a quantile read
 * from the others is within a step. Servers of one SLO have the same, so their counts can be added.
 * @param moreSlosMs of classes, which are bounds too.
 */
export function timeBoundsSeconds(sloMs: number, moreSlosMs: readonly number[] = []): number[] {
  const steps = (MOST_LOG2 - LEAST_LOG2) * STEPS;
  const powers = Array.from({ length: steps + 1 }, (_, step) => 2 ** (LEAST_LOG2 + step / STEPS));
  const shares = powers.filter((share) => share !== 1);
  const around = shares.map((share) => Number(((sloMs * share) / 1000).toPrecision(3)));
  const slos = [sloMs, ...moreSlosMs].map(secondsOf);
  return [...new Set([...around, ...slos])].sort((one, other) => one - other);
}

/** Rounds to microseconds, so that bounds have short texts. */
export function secondsOf(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}

export const SLACK_BOUNDS_SECONDS = [
  ...[-0.1, -0.01, 0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
];

export const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64];
