/** How accurate the answers of a plan are, by the variants that it has. */
import type { ScaledStage, ScaledTask, ScaledVariant } from "../../../bundle/schema.ts";

type AccurateTask = Pick<ScaledTask, "edges" | "scaleFactor"> & {
  readonly variants: readonly Pick<ScaledVariant, "accuracy">[];
};

/** Whether some task has variants to choose among. */
export function hasChoice(tasks: readonly { readonly variants: readonly unknown[] }[]): boolean {
  return tasks.some(({ variants }) => variants.length > 1);
}

/**
 * Product of the accuracies on the way to each last task, itself included; for several last tasks
 * the mean, weighted by the queries that reach them.
 */
export function planAccuracy(
  tasks: readonly AccurateTask[],
  stages: readonly Pick<ScaledStage, "variant">[],
): number {
  const isParent = new Set(tasks.flatMap(({ edges }) => edges.map(({ parent }) => parent)));
  let sum = 0;
  let queries = 0;
  for (const [task, { scaleFactor }] of tasks.entries()) {
    if (isParent.has(task)) continue;
    let accuracy = 1;
    for (const on of wayTo(tasks, task)) {
      accuracy *= tasks[on]?.variants[stages[on]?.variant ?? 0]?.accuracy ?? Number.NaN;
    }
    sum += scaleFactor * accuracy;
    queries += scaleFactor;
  }
  return sum / queries;
}

/** A task and all before it, ascending. */
function wayTo(
  tasks: readonly { readonly edges: readonly { readonly parent: number | null }[] }[],
  task: number,
): number[] {
  const way = new Set([task]);
  for (let at = task; at >= 0; at--) {
    if (!way.has(at)) continue;
    for (const { parent } of tasks[at]?.edges ?? []) if (parent !== null) way.add(parent);
  }
  return [...way].sort((a, b) => a - b);
}
