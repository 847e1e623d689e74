/** Compares provisioning plans, with the names of tasks and hardware. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { type DiffLevel, diffPlans } from "../../../describe/level-diff.ts";
import { planView } from "./plan-view.ts";

export function inferlineDiffer(before: InferlineBundle, after: InferlineBundle): DiffLevel {
  return (loadQps, index) =>
    diffPlans(loadQps, stageLevel(before, index.before), stageLevel(after, index.after));
}

/** Returns a level with the names of tasks and their hardware. */
function stageLevel(bundle: InferlineBundle, index: number): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const { costPerHour, stages } = planView(bundle, level);
  return {
    ...level,
    plan: { costPerHour, stages: stages.map(({ task, ...rest }) => ({ name: task, ...rest })) },
  };
}
