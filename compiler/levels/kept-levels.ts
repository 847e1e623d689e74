/** Which of several margins keeps the ceiling at the most levels. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";

/** What the promises of levels come to. */
export interface KeptLevels {
  /** Levels that carry their load and keep the ceiling. */
  readonly kept: number;
  readonly of: number;
  /** What the others violate beyond the ceiling, in all. */
  readonly excess: number;
}

/** Of the excess, what a larger margin has to take away for the next to be worth a try. */
const LEAST_GAIN = 0.1;

/** @param rateOf the highest violation rate that a level promises. */
export function keptLevels<L extends Level>(
  levels: readonly L[],
  ceiling: number,
  rateOf: (level: L) => number,
): KeptLevels {
  let kept = 0;
  let excess = 0;
  for (const level of levels) {
    const over = Math.max(0, rateOf(level) - ceiling);
    excess += over;
    if (over === 0 && level.capacityQps >= level.loadQps) kept++;
  }
  return { kept, of: levels.length, excess };
}

/** Whether a larger margin brings the ceiling closer: adaptive levels may be of another number. */
export function isBetter(after: KeptLevels, before: KeptLevels): boolean {
  const [own, other] = [after.kept * before.of, before.kept * after.of];
  if (own !== other) return own > other;
  return after.excess < (1 - LEAST_GAIN) * before.excess;
}

/** Whether more levels keep the ceiling; of as many the smaller margin is the better. */
export function keepsMore(after: KeptLevels, before: KeptLevels): boolean {
  return after.kept * before.of > before.kept * after.of;
}
