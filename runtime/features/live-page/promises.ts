/** Promises of a bundle's levels, limited to what a page can show. */

import type { Bundle, Level } from "../../bundle/schema.ts";
import { decidingLevel } from "../../describe/deciding-level.ts";
import type { LiveLevel } from "./live.ts";

/** Limit of the levels in a document. */
const MAX_LEVELS = 64;

/** Figures of a level over all methods; each method provides some of them. */
interface Stated {
  readonly accuracyPerSatisfied?: number;
  readonly violationRate?: number;
  readonly latencyMsP99?: number;
}

/**
 * Selects levels: all or evenly spaced ones, with the first, the last, the deciding one and its
 * neighbours.
 */
export function promisedLevels(bundle: Bundle, deciding: number | null): LiveLevel[] {
  const { levels } = bundle;
  const every = Math.ceil(levels.length / (MAX_LEVELS - 4));
  const kept = new Set([0, levels.length - 1]);
  for (let index = 0; index < levels.length; index += every) kept.add(index);
  if (deciding !== null) {
    for (const index of [deciding - 1, deciding, deciding + 1]) kept.add(index);
  }
  return [...kept]
    .sort((one, other) => one - other)
    .flatMap((index) => {
      const level = levels[index];
      return level === undefined ? pacedLevel(bundle, index) : [promisedLevel(level, index)];
    });
}

/** Levels for a slower machine have no promises of their own. */
function pacedLevel(bundle: Bundle, index: number): LiveLevel[] {
  const level = decidingLevel(bundle, index);
  if (level === undefined) return [];
  const { loadQps, pace } = level;
  return [
    { index, loadQps, pace, feasible: true, accuracy: null, violationRate: null, p99Ms: null },
  ];
}

function promisedLevel(level: Level, index: number): LiveLevel {
  // For levels with several plans, the promises are those of the steady plan.
  const stated: Stated = "expected" in level ? level.expected : level.steady.expected;
  return {
    index,
    loadQps: level.loadQps,
    pace: 1,
    feasible: level.feasible,
    accuracy: stated.accuracyPerSatisfied ?? null,
    violationRate: stated.violationRate ?? null,
    p99Ms: stated.latencyMsP99 ?? null,
  };
}
