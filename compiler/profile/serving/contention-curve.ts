/** Computes how much longer runs take beside each other, from rounds with known concurrency. */
import { medianOf } from "./spread.ts";

/** Mean time of a run with 1, 2, … workers busy, for one variant in one round, in ms. */
export type ContentionRound = readonly number[];

/**
 * Returns the slowdown with 1, 2, … workers busy: for each variant the median over its rounds of
 * concurrent time ÷ time alone in the same round, so that drift cancels; then the median over the
 * variants, made non-decreasing from 1.
 * @param byVariant rounds of the same length.
 */
export function contentionCurve(byVariant: readonly (readonly ContentionRound[])[]): number[] {
  const widths = Math.max(1, ...byVariant.map((rounds) => rounds[0]?.length ?? 0));
  const curve = [1];
  for (let width = 2; width <= widths; width++) {
    const factors = byVariant.map((rounds) => {
      return medianOf(rounds.map((round) => (round[width - 1] ?? 1) / (round[0] ?? 1)));
    });
    const last = curve[curve.length - 1] ?? 1;
    curve.push(Math.max(last, Math.round(medianOf(factors) * 1000) / 1000));
  }
  return curve;
}

/**
 * Extends a curve at its last value: workers with their own processors beyond the measured ones do
 * not slow each other further.
 * @param width workers, including processors used by others.
 */
export function heldCurve(curve: readonly number[], width: number): number[] {
  const length = Math.max(curve.length, width);
  return Array.from({ length }, (_, at) => curve[at] ?? curve.at(-1) ?? 1);
}
