/** Promises of levels for machines that are slower than profiled. */
import type { Bundle, Level, PacePromises } from "../bundle/schema.ts";

/** Smaller differences between paces are ignored: the grid of measured paces is coarser. */
const ROUNDING = 1e-3;

interface Stated extends PacePromises {
  readonly violationRate: number;
}

/** Returns the promises of a level at other paces; empty for a level without them. */
export function pacePromisesOf(level: Level): PacePromises {
  const stated: Stated = "expected" in level ? level.expected : level.steady.expected;
  const { headroom, byPace } = stated;
  return { ...(headroom !== undefined && { headroom }), ...(byPace !== undefined && { byPace }) };
}

/**
 * Returns the promise at a pace: the figures of the next higher stated pace, since a slower machine
 * achieves no more. Undefined above all of them.
 */
export function figuresAtPace<F extends { readonly pace: number }>(
  byPace: readonly F[],
  pace: number,
): F | undefined {
  return byPace.find((one) => one.pace >= pace - ROUNDING);
}

/** A level that was solved for a slower machine. */
export interface PaceLevel {
  readonly pace: number;
  readonly loadQps: number;
}

/** Returns the levels of a bundle for slower machines, in its order. */
export function paceLevelsOf(bundle: Bundle): readonly PaceLevel[] {
  const levels: readonly PaceLevel[] = ("paceLevels" in bundle && bundle.paceLevels) || [];
  return levels.map(({ pace, loadQps }) => ({ pace, loadQps }));
}
