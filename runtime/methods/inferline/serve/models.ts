/** The models of a bundle of inferline, and the batches that it asks of them. */

import type { InferlineBundle } from "../../../bundle/schema.ts";
import { ascending, taskModels, upTo, type WantedModel } from "../../wanted-models.ts";

export function inferlineModels(bundle: InferlineBundle): WantedModel[] {
  const pools = placedPools(bundle);
  const warm = stageBatches(bundle).map((batches, variant) => {
    return { ...upTo(batches), pools: pools[variant] };
  });
  return taskModels(bundle.tasks, warm);
}

/** Pools that plans have each variant in. */
function placedPools({ tasks, levels }: InferlineBundle): number[][] {
  const pools = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan } of levels) {
    for (const [task, { variant, pool }] of plan.stages.entries())
      pools[task]?.[variant]?.add(pool);
  }
  return ascending(pools.flat());
}

/**
 * Returns the batches of each task: the largest, and a single query. Waiting queries are taken up
 * to the largest.
 */
function stageBatches({ tasks, levels }: InferlineBundle): number[][] {
  const batches = tasks.map(({ variants }) => variants.map(() => new Set<number>()));
  for (const { plan } of levels) {
    for (const [task, { variant, batch }] of plan.stages.entries()) {
      batches[task]?.[variant]?.add(1).add(batch);
    }
  }
  return ascending(batches.flat());
}
