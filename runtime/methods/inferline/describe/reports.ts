/** Tasks and levels of provisioning plans, as in `inspect --json`. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { profileSections, type Section, sectionOf } from "../../../describe/bundle-sections.ts";
import { measuredReports } from "../../../describe/profile-reports.ts";
import type { FirstStages } from "../../../describe/serving-summary.ts";
import { inferlineMissed } from "./missed.ts";
import { planView, trafficView } from "./plan-view.ts";

export function inferlineTasks({ tasks }: InferlineBundle) {
  return tasks.map(({ variants, ...task }) => ({ ...task, variants: measuredReports(variants) }));
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function inferlineLevels(bundle: InferlineBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    const missed = inferlineMissed(bundle, level);
    const plan = planView(bundle, level);
    const sample = trafficView(level.sample);
    const { method, status, provenGap: gap, evaluations } = level.solve;
    const solve = { ms: solveMs[index] ?? null, method, status, gap, evaluations };
    return { loadQps, feasible, missed, capacityQps, plan, sample, expected, solve };
  });
}

/** The tables of a bundle of inferline, in its order. */
export function inferlineSections({ tasks, levels }: InferlineBundle): Section[] {
  const envelopes = levels.flatMap(({ sample: { envelope } }, index) => {
    const path = `levels[${index}].sample.envelope`;
    return [
      sectionOf(`${path}.windowMs`, envelope.windowMs),
      sectionOf(`${path}.requests`, envelope.requests),
    ];
  });
  return [...profileSections(tasks), ...envelopes];
}

/** The tasks of the highest level, which a server begins with. */
export function firstReplicas({ tasks, cluster, levels }: InferlineBundle): FirstStages {
  const stages = (levels.at(-1)?.plan.stages ?? []).map(({ pool, batch, replicas }, index) => {
    const { name = "", hardware = null } = cluster.pools[pool] ?? {};
    const task = tasks[index]?.name ?? "";
    return { task, hardware: hardware ?? name, batch, replicas };
  });
  const texts = stages.map(({ task, hardware, batch, replicas }) => {
    const times = replicas === 1 ? "1 replica" : `${replicas} replicas`;
    return `  ${task}: ${times} planned for ${hardware}, batches up to ${batch}`;
  });
  return { stages, texts };
}
