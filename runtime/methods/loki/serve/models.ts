/** The models of a bundle of loki, and the batches that it asks of them. */

import type { LokiBundle, StagePolicy } from "../../../bundle/schema.ts";
import { ascending, taskModels, upTo, type WantedModel } from "../../wanted-models.ts";

export function lokiModels(bundle: LokiBundle): WantedModel[] {
  const asked = planBatches(bundle, ({ actionByState }) => actionByState.data);
  // Queries that a table gives up run in the batch of the highest rate, which may occur in no
  // state.
  const possible = planBatches(bundle, ({ decisionSpace }) => [
    ...Array(decisionSpace.actions.data.length / 2).keys(),
  ]);
  const pools = placedPools(bundle);
  const warm = asked.map((warmBatches, variant) => {
    return { ...upTo(possible[variant] ?? []), warmBatches, pools: pools?.[variant] };
  });
  return taskModels(bundle.tasks, warm);
}

/** Pools that plans have each variant in; null where tables choose variants, on any worker. */
function placedPools({ tasks, levels, paceLevels = [] }: LokiBundle): number[][] | null {
  if (levels.some(({ stages }) => stages !== null)) return null;
  const pools = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan } of [...levels, ...paceLevels]) {
    for (const { task, variant, pool } of plan.instances) pools[task]?.[variant]?.add(pool);
  }
  return ascending(pools.flat());
}

/**
 * Returns the batches of each instance: the largest, and a single query; for tables, those of their
 * actions.
 */
function planBatches(
  { tasks, levels, paceLevels = [] }: LokiBundle,
  actionsOf: (stage: StagePolicy) => Iterable<number>,
): number[][] {
  const batches = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  const paced = paceLevels.map(({ plan }) => ({ plan, stages: null }));
  for (const { plan, stages } of [...levels, ...paced]) {
    for (const { task, variant, batch } of plan.instances) {
      batches[task]?.[variant]?.add(1).add(batch);
    }
    for (const [task, stage] of stages?.entries() ?? []) {
      if (stage === null) continue;
      const actions = stage.decisionSpace.actions.data;
      for (const action of new Set(actionsOf(stage))) {
        const [variant, batch] = [actions[2 * action], actions[2 * action + 1]];
        if (variant !== undefined && batch !== undefined) batches[task]?.[variant]?.add(batch);
      }
    }
  }
  return ascending(batches.flat());
}
