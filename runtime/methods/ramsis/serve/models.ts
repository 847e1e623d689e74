/** The models of a bundle of ramsis, and the batches that it asks of them. */

import type { RamsisBundle } from "../../../bundle/schema.ts";
import { ascending, type WantedModel } from "../../wanted-models.ts";

export function ramsisModels(bundle: RamsisBundle): WantedModel[] {
  const warmBatches = tableBatches(bundle);
  const largest = largestBatches(bundle);
  return bundle.tasks
    .flatMap(({ variants }) => variants)
    .map(({ name, model }, index) => {
      const batches = { warmBatches: warmBatches[index] ?? [], largestBatch: largest[index] ?? 1 };
      return { name, model, ...batches, outputsAreRows: true };
    });
}

function tableBatches({ tasks, levels, decisionSpace }: RamsisBundle): number[][] {
  const variantCount = tasks.reduce((count, task) => count + task.variants.length, 0);
  const batches = Array.from({ length: variantCount }, () => new Set<number>());
  const actions = decisionSpace.actions.data;
  const tables = levels.flatMap(({ actionByState, classTables = [], bucketTables, mixture }) => [
    ...(bucketTables ?? [actionByState]),
    ...classTables.map((table) => table.actionByState),
    ...(mixture === null ? [] : [mixture.actionByState]),
  ]);
  const used = new Set(tables.flatMap(({ data }) => [...new Set(data)]));
  for (const action of used) {
    const [variant, batch] = [actions[2 * action], actions[2 * action + 1]];
    // Waiting and giving up are no batches.
    if (variant !== undefined && batch !== undefined) batches[variant]?.add(batch);
  }
  // A client may name a variant that no table runs.
  for (const sizes of batches) if (sizes.size === 0) sizes.add(1);
  return ascending(batches);
}

/**
 * Returns, by variant, the largest batch that any table may ask for, including levels added later.
 * Late queries, and those that name their variant, use batches within these sizes.
 */
function largestBatches({ tasks, decisionSpace }: RamsisBundle): number[] {
  const largest = tasks.flatMap(({ variants }) => variants.map(() => 1));
  const actions = decisionSpace.actions.data;
  for (let at = 0; at < actions.length; at += 2) {
    const [variant, batch] = [actions[at] ?? 0, actions[at + 1] ?? 1];
    largest[variant] = Math.max(largest[variant] ?? 1, batch);
  }
  return largest;
}
