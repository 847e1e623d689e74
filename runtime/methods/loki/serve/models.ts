/** The models of a bundle of loki, and the batches that it asks of them. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { ascending, taskModels, type WantedModel } from "../../../wanted-models.ts";

export function lokiModels(bundle: LokiBundle): WantedModel[] {
  const warm = planBatches(bundle).map((warmBatches) => ({ warmBatches }));
  return taskModels(bundle.tasks, warm);
}

/** The largest batch of each instance, and a single query; of a table, what its cells say. */
function planBatches({ tasks, levels }: LokiBundle): number[][] {
  const batches = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan, stages } of levels) {
    for (const { task, variant, batch } of plan.instances) {
      batches[task]?.[variant]?.add(1).add(batch);
    }
    for (const [task, stage] of stages?.entries() ?? []) {
      const actions = stage?.decisionSpace.actions.data ?? [];
      for (const action of new Set(stage?.actionByState.data)) {
        const [variant, batch] = [actions[2 * action], actions[2 * action + 1]];
        if (variant !== undefined && batch !== undefined) batches[task]?.[variant]?.add(batch);
      }
    }
  }
  return ascending(batches.flat());
}
