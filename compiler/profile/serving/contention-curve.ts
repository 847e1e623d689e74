/** How much longer runs take beside each other, from rounds in which they were counted. */
import { medianOf } from "./spread.ts";

/** Mean time of a run with 1, 2, … workers busy, of one variant and one round, ms. */
export type ContentionRound = readonly number[];

/**
 * The factors with 1, 2, … workers busy: of each variant the median over its rounds of what a run
 * took beside others ÷ what it took alone in the same round, so that what drifts drifts for both;
 * then the median over the variants, made not to descend from 1.
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
 * A curve that goes on as it ends: of workers with processors of their own, those beyond the
 * measured ones take no more from each other than these do.
 * @param width workers, and processors that others have here.
 */
export function heldCurve(curve: readonly number[], width: number): number[] {
  const length = Math.max(curve.length, width);
  return Array.from({ length }, (_, at) => curve[at] ?? curve.at(-1) ?? 1);
}
