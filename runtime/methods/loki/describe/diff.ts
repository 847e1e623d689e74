/** Compares plans, with the names of their tasks, variants and pools. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { type DiffLevel, diffPlans } from "../../../describe/level-diff.ts";
import { planView } from "./plan-view.ts";

export function lokiDiffer(before: LokiBundle, after: LokiBundle): DiffLevel {
  return (loadQps, index) =>
    diffPlans(loadQps, namedLevel(before, index.before), namedLevel(after, index.after));
}

/** Returns a level with the names of its instances and paths. */
function namedLevel(bundle: LokiBundle, index: number): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const { instances, paths, ...plan } = planView(bundle, level);
  return {
    ...level,
    plan: {
      ...plan,
      instances: instances.map(({ task, variant, pool, ...rest }) => ({
        name: `${task}/${variant} on ${pool}`,
        ...rest,
      })),
      paths: paths.map(({ variants, ...rest }) => ({
        name: Object.values(variants).join("|"),
        ...rest,
      })),
    },
  };
}
