/** Tasks and levels of plans, as in `inspect --json`. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { measuredReports } from "../../../describe/profile-reports.ts";
import { lokiMissed } from "./missed.ts";
import { planView } from "./plan-view.ts";

export function lokiTasks({ tasks }: LokiBundle) {
  return tasks.map(({ variants, ...task }) => ({ ...task, variants: measuredReports(variants) }));
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function lokiLevels(bundle: LokiBundle, solveMs: readonly number[]) {
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected, transition } = level;
    const missed = lokiMissed(bundle, level);
    const plan = planView(bundle, level);
    const solve = { ms: solveMs[index] ?? null, ...level.solve };
    return { loadQps, feasible, missed, capacityQps, plan, transition, expected, solve };
  });
}
