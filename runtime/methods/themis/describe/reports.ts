/** Tasks and levels of plans of cores and instances, as in `inspect --json`. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf } from "../../../describe/bundle-sections.ts";
import type { FirstStages } from "../../../describe/serving-summary.ts";
import { fitError, fittedPoints } from "./latency-fit-view.ts";
import { themisMissed } from "./missed.ts";
import { chosenOf, plansView, solveView } from "./plan-view.ts";

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

/** The tables of a bundle of themis, in its order. */
export function themisSections({ tasks, transitions }: ThemisBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.flatMap(({ latency }, variant) => {
      const path = `tasks[${index}].variants[${variant}].latency`;
      return [sectionOf(`${path}.ms`, latency.ms), sectionOf(`${path}.points`, latency.points)];
    }),
  );
  return [...latencies, sectionOf("transitions", transitions)];
}

/** The tasks of the highest level, which a server begins with. */
export function firstInstances({ tasks, levels, cluster }: ThemisBundle): FirstStages {
  const stages = (levels.at(-1)?.steady.stages ?? []).map(({ variant, ...stage }, index) => {
    const { name = "", variants = [] } = tasks[index] ?? {};
    return { task: name, ...chosenOf(variants, { variant }, cluster.pools), ...stage };
  });
  const texts = stages.map(({ task: name, variant, pool, batch, cores, instances }) => {
    const task = [name, variant ?? [], pool === undefined ? [] : `on ${pool}`].flat().join(" ");
    const times = instances === 1 ? "1 instance" : `${instances} instances`;
    const size = cores === 1 ? "1 core" : `${cores} cores`;
    return `  ${task}: ${times} of ${size}, batches up to ${batch}`;
  });
  return { stages, texts };
}
