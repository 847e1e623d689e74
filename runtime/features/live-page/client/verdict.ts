/** Whether what was measured keeps what was promised, as far as so many rows can tell. */
import type { Snapshot } from "./history.ts";
import { decidingLevel, measuresOf } from "./measures.ts";

/** Chance: it is not kept, but so few rows say nothing against it. */
export type Verdict = "kept" | "broken" | "chance" | "unknown";

export interface Verdicts {
  readonly violations: Verdict;
  readonly accuracy: Verdict;
}

/** Fewer rows tell nothing. */
const MIN_ROWS = 100;
/** Beyond that many standard deviations a rate is not chance. */
const SIGMAS = 3;
/** How well accuracies agree where everything is as profiled. */
const ACCURACY_TOLERANCE = 0.002;

/** Each second's rows are held against the promise of the level that decided then. */
export function verdictsOf(snapshots: readonly Snapshot[]): Verdicts {
  const sums = { rows: 0, violations: 0, promised: 0, satisfied: 0, accuracy: 0, stated: 0 };
  for (const [index, { application }] of snapshots.entries()) {
    const before = snapshots[index - 1]?.application;
    const level = decidingLevel(application);
    // Above the highest level nothing is promised.
    const isBeyond = (application.loadQps ?? 0) > (application.levels.at(-1)?.loadQps ?? 0);
    if (before === undefined || level === undefined || isBeyond) continue;
    const { rows, violations, accuracy } = measuresOf(application, before);
    if (level.violationRate !== null) {
      sums.rows += rows;
      sums.violations += violations;
      sums.promised += rows * level.violationRate;
    }
    if (level.accuracy !== null && accuracy !== null) {
      const satisfied = rows - violations;
      sums.satisfied += satisfied;
      sums.accuracy += satisfied * accuracy;
      sums.stated += satisfied * level.accuracy;
    }
  }
  return {
    violations: sums.rows < MIN_ROWS ? "unknown" : ofCounts(sums.violations, sums.promised),
    accuracy: sums.satisfied < MIN_ROWS ? "unknown" : ofSums(sums),
  };
}

function ofCounts(violations: number, promised: number): Verdict {
  if (violations <= promised) return "kept";
  const chance = SIGMAS * Math.sqrt(Math.max(1, promised));
  return violations <= promised + chance ? "chance" : "broken";
}

function ofSums(sums: Readonly<Record<"accuracy" | "stated" | "satisfied", number>>): Verdict {
  return sums.accuracy >= sums.stated - ACCURACY_TOLERANCE * sums.satisfied ? "kept" : "broken";
}
