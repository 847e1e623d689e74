/** The least time of places that has a query on time, whatever it runs on and when it changes. */
import type { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";

/**
 * Time of all places of a query that has a budget from its arrival on; Infinity where nothing has
 * it on time. An instance is done on one shape, since those in flight are lost with a change. So
 * without the time for two runs it is the cheapest shape that is in time; otherwise instances may
 * be mixed of two shapes, as if pipelines were filled for nothing.
 */
export function leastWorkMs(
  table: PipelineTable,
  model: number,
  batch: number,
  budgetMs: number,
): number {
  let quickestMs = Number.POSITIVE_INFINITY;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let shape = 0; shape < table.shapeCount; shape++) {
    const ms = table.latencyMs(model, shape, batch);
    quickestMs = Math.min(quickestMs, table.latencyMs(model, shape, 1));
    if (ms <= budgetMs) leastMs = Math.min(leastMs, table.sizeOf(shape) * ms);
  }
  if (batch === 1 || 2 * quickestMs > budgetMs) return leastMs;
  return Math.min(leastMs, batch * leastMixedMs(table, model, budgetMs / batch));
}

/** Of an instance, of which so many share the budget; of the steps between instances alone. */
function leastMixedMs(table: PipelineTable, model: number, budgetMs: number): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let quick = 0; quick < table.shapeCount; quick++) {
    const quickMs = stepMs(table, model, quick);
    if (!(quickMs <= budgetMs)) continue;
    const quickWorkMs = table.sizeOf(quick) * quickMs;
    leastMs = Math.min(leastMs, quickWorkMs);
    for (let slow = 0; slow < table.shapeCount; slow++) {
      const slowMs = stepMs(table, model, slow);
      if (!(slowMs > budgetMs) || slowMs === Number.POSITIVE_INFINITY) continue;
      const share = (slowMs - budgetMs) / (slowMs - quickMs);
      const mixedMs = share * quickWorkMs + (1 - share) * table.sizeOf(slow) * slowMs;
      leastMs = Math.min(leastMs, mixedMs);
    }
  }
  return leastMs;
}

function stepMs(table: PipelineTable, model: number, shape: number): number {
  const oneMs = table.latencyMs(model, shape, 1);
  return oneMs === Number.POSITIVE_INFINITY ? oneMs : table.latencyMs(model, shape, 2) - oneMs;
}
