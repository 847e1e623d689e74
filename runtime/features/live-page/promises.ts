/** What a bundle promises of its levels, as far as a page has room for them. */

import type { Bundle, Level } from "../../bundle/schema.ts";
import { decidingLevel } from "../../describe/deciding-level.ts";
import type { LiveLevel } from "./live.ts";

/** Levels that a document tells at most. */
const MAX_LEVELS = 64;

/** What bundles of all methods may say of a level; of each figure some methods say nothing. */
interface Stated {
  readonly accuracyPerSatisfied?: number;
  readonly violationRate?: number;
  readonly latencyMsP99?: number;
}

/**
 * The levels, or as many as may be told, evenly spread, with the first, the last, and the two
 * around the one that decides.
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

/** A level for a slower machine promises nothing by itself. */
function pacedLevel(bundle: Bundle, index: number): LiveLevel[] {
  const level = decidingLevel(bundle, index);
  if (level === undefined) return [];
  const { loadQps, pace } = level;
  return [
    { index, loadQps, pace, feasible: true, accuracy: null, violationRate: null, p99Ms: null },
  ];
}

function promisedLevel(level: Level, index: number): LiveLevel {
  // Of levels with several plans, the one that is followed at their load is what they promise.
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
