/** The models of a bundle of ramsis, and the batches that it asks of them. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { ascending, type WantedModel } from "../../../wanted-models.ts";

export function ramsisModels(bundle: RamsisBundle): WantedModel[] {
  const warmBatches = tableBatches(bundle);
  return bundle.tasks
    .flatMap(({ variants }) => variants)
    .map(({ name, model }, index) => {
      return { name, model, warmBatches: warmBatches[index] ?? [], outputsAreRows: true };
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
