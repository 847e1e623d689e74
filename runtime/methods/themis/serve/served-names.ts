/** Names of variants as metrics and answers have them, where one runs in several pools. */
import type { ThemisBundle } from "../../../bundle/schema.ts";

/** The bundle with `name@pool` in place of a name that a task has more than once. */
export function withServedNames(bundle: ThemisBundle): ThemisBundle {
  const { pools } = bundle.cluster;
  if (pools.length === 1) return bundle;
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => {
      const { name, pool = 0 } = variant;
      const count = task.variants.filter((other) => other.name === name).length;
      return count === 1 ? variant : { ...variant, name: `${name}@${pools[pool]?.name ?? ""}` };
    }),
  }));
  return { ...bundle, tasks };
}
