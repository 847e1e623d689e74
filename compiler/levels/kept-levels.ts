/** Counts the levels that keep the ceiling, to choose between margins. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";

export interface KeptLevels {
  /** Levels that carry their load and keep the ceiling. */
  readonly kept: number;
  /** Levels that are planned to carry their load; no margin helps the others. */
  readonly carried: number;
  readonly of: number;
}

/** @param rateOf the highest violation rate that a level promises. */
export function keptLevels<L extends Level>(
  levels: readonly L[],
  ceiling: number,
  rateOf: (level: L) => number,
): KeptLevels {
  const carried = levels.filter(({ capacityQps, loadQps }) => capacityQps >= loadQps);
  const kept = carried.filter((level) => rateOf(level) <= ceiling);
  return { kept: kept.length, carried: carried.length, of: levels.length };
}

/** Compares ratios, since the number of levels may differ if levels are placed by accuracy. */
export function keepsMore(after: KeptLevels, before: KeptLevels): boolean {
  return after.kept * before.of > before.kept * after.of;
}
