/**
 * Finds the differences of two bundles in terms of their application: variants and batches, not
 * action indices.
 */
import { isOfSameMethod } from "stratagem-runtime/internal/bundle/same-method";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import {
  type DiffLevel,
  diffFields,
  type FieldDiff,
  type LevelDiff,
  levelDiff,
} from "stratagem-runtime/internal/describe/level-diff";
import { methodOf } from "stratagem-runtime/internal/methods/registry";

export interface BundleDiff {
  readonly same: boolean;
  readonly fields: readonly FieldDiff[];
  /** Ascending in load; equal levels are left out. */
  readonly levels: readonly LevelDiff[];
}

/** Matches levels by their load. */
export function diffBundles(before: Bundle, after: Bundle): BundleDiff {
  const { levels: levelsBefore } = before;
  const { levels: levelsAfter } = after;
  const fields = diffFields(methodOf(before).diffFrame(before), methodOf(after).diffFrame(after));
  const diffAt = levelDiffer(before, after);
  const loads = [...new Set([...levelsBefore, ...levelsAfter].map(({ loadQps }) => loadQps))];
  const levels = loads
    .sort((a, b) => a - b)
    .map((loadQps) => {
      const index = {
        before: levelsBefore.findIndex((level) => level.loadQps === loadQps),
        after: levelsAfter.findIndex((level) => level.loadQps === loadQps),
      };
      if (index.before < 0 || index.after < 0) {
        return levelDiff(loadQps, index.before < 0 ? "added" : "removed", []);
      }
      return diffAt(loadQps, index);
    })
    .filter((level) => level !== null);
  return { same: fields.length === 0 && levels.length === 0, fields, levels };
}

/** Levels of different methods are only compared for equality. */
function levelDiffer(before: Bundle, after: Bundle): DiffLevel {
  if (isOfSameMethod(before, after)) return methodOf(before).levelDiffer(before, after);
  return (loadQps) => levelDiff(loadQps, "changed", []);
}
