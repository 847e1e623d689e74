/** The models of a bundle of themis, and the batches that it asks of them. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { ascending, taskModels, upTo, type WantedModel } from "../../../wanted-models.ts";

export function themisModels(bundle: ThemisBundle): WantedModel[] {
  const warmCores = coresByTask(bundle);
  const warm = scaleBatches(bundle).map((warmBatches, task) => {
    return { ...upTo(warmBatches), warmCores: warmCores[task] };
  });
  return taskModels(bundle.tasks, warm);
}

/**
 * The largest batch of each task in plans that are followed and in bursts, and a single query: what
 * waits is taken, up to the largest.
 */
function scaleBatches({ tasks, levels, transitions }: ThemisBundle): number[][] {
  const batches = tasks.map(() => new Set([1]));
  for (const { steady } of levels) {
    for (const [task, { batch }] of steady.stages.entries()) batches[task]?.add(batch);
  }
  const cells = transitions.data;
  for (let at = 0; at < cells.length; at += 3) {
    batches[(at / 3) % tasks.length]?.add(cells[at] ?? 1);
  }
  return ascending(batches);
}

/**
 * Core counts that instances of each task have in plans that are followed and in bursts; of new
 * ones as well.
 */
function coresByTask({ tasks, levels, transitions, policy }: ThemisBundle): number[][] {
  const cores = tasks.map(() => new Set(policy.extraCores === "one" ? [1] : []));
  for (const { steady } of levels) {
    for (const [task, stage] of steady.stages.entries()) cores[task]?.add(stage.cores);
  }
  const cells = transitions.data;
  for (let at = 0; at < cells.length; at += 3) {
    cores[(at / 3) % tasks.length]?.add(cells[at + 1] ?? 1);
  }
  return ascending(cores);
}
