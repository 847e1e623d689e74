/** Says how far two levels of decision tables are apart in the accuracy they promise. */
import type { RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { LevelGap } from "../method.ts";

/**
 * Difference in accuracy per query or per satisfied query, whichever is larger; the latter counts
 * only where both levels satisfy any query.
 */
export function ramsisGap({ expected: a }: RamsisLevel, { expected: b }: RamsisLevel): LevelGap {
  const perQuery = Math.abs(a.accuracyPerQuery - b.accuracyPerQuery);
  if (a.violationRate === 1 || b.violationRate === 1) return { accuracy: perQuery, otherSteps: 0 };
  const perSatisfied = Math.abs(a.accuracyPerSatisfied - b.accuracyPerSatisfied);
  return { accuracy: Math.max(perQuery, perSatisfied), otherSteps: 0 };
}
