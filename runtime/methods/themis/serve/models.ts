/** The models of a bundle of themis, and the batches that it asks of them. */

import { followedLevels, type ThemisBundle } from "../../../bundle/schema.ts";
import { starts } from "../../../core/graph/pipeline-shape.ts";
import { ascending, taskModels, upTo, type WantedModel } from "../../wanted-models.ts";

export function themisModels(bundle: ThemisBundle): WantedModel[] {
  const { tasks, cluster } = bundle;
  const warmCores = coresByVariant(bundle);
  const pools = tasks.flatMap(({ variants }) => variants.map(({ pool = 0 }) => pool));
  const warm = scaleBatches(bundle).map((warmBatches, variant) => {
    const cores = { ...upTo(warmBatches), warmCores: warmCores[variant] };
    return cluster.pools.length === 1 ? cores : { ...cores, pools: [pools[variant] ?? 0] };
  });
  return taskModels(tasks, warm);
}

/** Calls back for each variant in plans that are followed, and in their bursts. */
function eachStage(
  bundle: ThemisBundle,
  tell: (variant: number, batch: number, cores: number) => void,
): void {
  const { tasks, transitions } = bundle;
  const levels = followedLevels(bundle);
  const start = starts(tasks.map(({ variants }) => variants.length));
  const cells = transitions.data;
  for (const [row, { steady }] of levels.entries()) {
    for (const [task, { batch, cores, variant = 0 }] of steady.stages.entries()) {
      const index = (start[task] ?? 0) + variant;
      tell(index, batch, cores);
      for (let column = 0; column < levels.length; column++) {
        const at = 3 * ((row * levels.length + column) * tasks.length + task);
        tell(index, cells[at] ?? 1, cells[at + 1] ?? 1);
      }
    }
  }
}

/**
 * Returns the batches of each variant in plans that are followed and in their bursts: the largest,
 * and a single query. Waiting queries are taken up to the largest.
 */
function scaleBatches(bundle: ThemisBundle): number[][] {
  const batches = bundle.tasks.flatMap(({ variants }) => variants.map(() => new Set([1])));
  eachStage(bundle, (variant, batch) => batches[variant]?.add(batch));
  return ascending(batches);
}

/**
 * Core counts that instances of each variant have in plans that are followed and in bursts; of new
 * ones as well.
 */
function coresByVariant(bundle: ThemisBundle): number[][] {
  const first = bundle.policy.extraCores === "one" ? [1] : [];
  const cores = bundle.tasks.flatMap(({ variants }) => variants.map(() => new Set(first)));
  eachStage(bundle, (variant, _batch, count) => cores[variant]?.add(count));
  return ascending(cores);
}
