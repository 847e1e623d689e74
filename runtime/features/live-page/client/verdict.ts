/** Judges whether measurements keep the promises, given the number of rows. */
import type { LivePromise } from "../live.ts";
import type { Snapshot } from "./history.ts";
import { measuresOf } from "./measures.ts";

/**
 * "chance" means a violation that so few rows do not establish; "worse", one that the sequential
 * test of the promise does not establish; "recovering", a broken promise that is kept now.
 */
export type Verdict = "kept" | "broken" | "recovering" | "chance" | "worse" | "unknown";

export interface Verdicts {
  readonly violations: Verdict;
  readonly accuracy: Verdict;
}

/** Minimum number of rows for a verdict. */
const MIN_ROWS = 100;
/** Standard deviations beyond which a rate is not attributed to chance. */
const SIGMAS = 3;
/** Tolerance of accuracies when everything is as profiled. */
export const ACCURACY_TOLERANCE = 0.002;

/**
 * Compares the rows of each second with what was promised then. Where promises
 * are watched, they alone say that one is broken, so that the page has one verdict.
 */
export function verdictsOf(
  snapshots: readonly Snapshot[],
  promises: readonly LivePromise[] = [],
): Verdicts {
  const { violations, accuracy } = ownVerdicts(snapshots);
  const judged = (name: LivePromise["promise"], own: Verdict): Verdict => {
    const watched = promises.find(({ promise }) => promise === name);
    if (watched === undefined) return own;
    if (!watched.holds) return "broken";
    return own === "broken" ? "worse" : own;
  };
  return { violations: judged("violations", violations), accuracy: judged("accuracy", accuracy) };
}

function ownVerdicts(snapshots: readonly Snapshot[]): Verdicts {
  const sums = { rows: 0, violations: 0, promised: 0, satisfied: 0, accuracy: 0, stated: 0 };
  for (const [index, { application }] of snapshots.entries()) {
    const before = snapshots[index - 1]?.application;
    if (before === undefined) continue;
    const { promised } = application;
    const { rows, violations, accuracy } = measuresOf(application, before);
    if (promised.violationRate !== null) {
      sums.rows += rows;
      sums.violations += violations;
      sums.promised += rows * promised.violationRate;
    }
    if (promised.accuracy !== null && accuracy !== null) {
      const satisfied = rows - violations;
      sums.satisfied += satisfied;
      sums.accuracy += satisfied * accuracy;
      sums.stated += satisfied * promised.accuracy;
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
