/** Tasks and levels of tables, as in `inspect --json`. */
import type { RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { classViews } from "./class-level-view.ts";
import { ramsisMissed } from "./missed.ts";
import { serviceMsOf } from "./service-ms.ts";

export function ramsisTasks({ tasks }: RamsisBundle) {
  return tasks.map(taskReport);
}

function taskReport({ name, variants, serviceTimes }: RamsisBundle["tasks"][number]) {
  return {
    name,
    variants: variants.map((variant, index) => ({
      ...variant,
      batch1Ms: serviceMsOf(serviceTimes.decisionMs, index, 1),
    })),
  };
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function ramsisLevels(bundle: RamsisBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    const missed = ramsisMissed(bundle, level);
    const solve = { ms: solveMs[index] ?? null, ...level.solve };
    const workers = level.classTables && workersByClass(bundle, level);
    const split = workers === undefined ? {} : { workersByClass: workers };
    return { loadQps, feasible, missed, capacityQps, expected, ...split, solve };
  });
}

/** Returns the workers of each class; null for classes without workers of their own. */
function workersByClass(bundle: RamsisBundle, level: RamsisLevel): Record<string, number | null> {
  return Object.fromEntries(classViews(bundle, level).map(({ name, workers }) => [name, workers]));
}
