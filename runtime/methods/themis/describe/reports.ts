/** Tasks and levels of plans of cores and instances, as in `inspect --json`. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { fitError, fittedPoints } from "./latency-fit-view.ts";
import { themisMissed } from "./missed.ts";
import { plansView, solveView } from "./plan-view.ts";

export function themisTasks({ tasks }: ThemisBundle) {
  return tasks.map(scaledReport);
}

/** Reports latencies by cores less one and batch less one, and the error of the fit. */
function scaledReport({ variants, ...task }: ThemisBundle["tasks"][number]) {
  return {
    ...task,
    variants: variants.map(({ latency, ...variant }) => {
      const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
      const points = fittedPoints(latency);
      const msByCores = Array.from({ length: maxCores }, (_, core) =>
        Array.from(latency.ms.data.subarray(core * maxBatch, (core + 1) * maxBatch)),
      );
      return { ...variant, fit: latency.fit, fitError: fitError(points), points, msByCores };
    }),
  };
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function themisLevels(bundle: ThemisBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, steady } = level;
    const missed = themisMissed(bundle, level);
    const plan = plansView(bundle, level);
    const solve = { ms: solveMs[index] ?? null, ...solveView(bundle, level.solve) };
    return { loadQps, feasible, missed, capacityQps, plan, expected: steady.expected, solve };
  });
}
