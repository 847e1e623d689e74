/** Tasks and levels of provisioning plans, as in `inspect --json`. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { measuredReports } from "../../../describe/profile-reports.ts";
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
