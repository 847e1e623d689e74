/** Compares plans of cores and instances, with tasks by name. */
import type { ScalePlan, ThemisBundle } from "../../../bundle/schema.ts";
import { type DiffLevel, diffPlans } from "../../../describe/level-diff.ts";
import { burstsFrom } from "./burst-view.ts";
import { chosenOf, solveView } from "./plan-view.ts";

export function themisDiffer(before: ThemisBundle, after: ThemisBundle): DiffLevel {
  return (loadQps, index) => {
    const was = scaleLevel(before, index.before, after);
    return diffPlans(loadQps, was, scaleLevel(after, index.after, before));
  };
}

/**
 * Returns a level with tasks by name, and its transitions to the loads that the other bundle has
 * too.
 */
function scaleLevel(bundle: ThemisBundle, index: number, other: ThemisBundle): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const bursts = burstsFrom(bundle, index).filter(({ loadQps }) =>
    other.levels.some((one) => one.loadQps === loadQps),
  );
  const named = (plan: ScalePlan | null) =>
    plan && {
      ...plan,
      stages: plan.stages.map(({ variant, ...stage }, task) => {
        const { name, variants = [] } = bundle.tasks[task] ?? {};
        const chosen = chosenOf(variants, { variant }, bundle.cluster.pools);
        return { name, ...chosen, ...stage };
      }),
    };
  return {
    ...level,
    horizontal: named(level.horizontal),
    vertical: named(level.vertical),
    joint: named(level.joint),
    steady: named(level.steady),
    solve: solveView(bundle, level.solve),
    bursts: bursts.map(({ loadQps, stages, cores }) => ({
      name: `${loadQps} qps`,
      cores,
      stages: stages.map(({ task, ...stage }) => ({ name: task, ...stage })),
    })),
  };
}
