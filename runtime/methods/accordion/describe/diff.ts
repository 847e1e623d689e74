/** Compares pipelines by their places. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { type DiffLevel, diffPlans } from "../../../describe/level-diff.ts";
import { depthViews } from "./plan-view.ts";

export function accordionDiffer(before: AccordionBundle, after: AccordionBundle): DiffLevel {
  return (loadQps, index) =>
    diffPlans(loadQps, before.levels[index.before], after.levels[index.after]);
}

/**
 * Returns pipelines by their places, such as `pipelines[2 default].cut: 3 + 3 → 4 + 2`, with their
 * latencies in the table.
 */
export function placesByName(frame: Omit<AccordionBundle, "levels">): object {
  const { tasks, shapes: _shapes, ...rest } = frame;
  return {
    ...rest,
    tasks: tasks.map(({ variants, ...task }) => ({
      ...task,
      variants: variants.map(({ latencyMs, pipelines, stages, ...variant }) => ({
        ...variant,
        stages: stages.map(({ from, to, model }) => ({ name: `${from}-${to}`, model })),
        pipelines: depthViews(frame, { latencyMs, pipelines }).map(
          ({ executionPlaces: _places, cut, stageMs, pools, ...figures }) => ({
            name: countedNames(pools),
            cut: cut.join(" + "),
            stageMs: stageMs.join(" + "),
            pools: pools.join(" + "),
            ...figures,
          }),
        ),
      })),
    })),
  };
}

function countedNames(names: readonly string[]): string {
  const own = [...new Set(names)].sort();
  return own.map((name) => `${names.filter((one) => one === name).length} ${name}`).join(", ");
}
