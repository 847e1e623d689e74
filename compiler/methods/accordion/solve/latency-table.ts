/** What queries take: a table of shapes and batches, so that who schedules computes nothing. */

import type {
  AccordionOptions,
  LayerPipeline,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import { viewOf } from "../../../model/table-view.ts";

/**
 * Time of one instance through a pipeline.
 * @param first pipeline of the model, which stands for the whole where stages are not known.
 */
function fillMs({ stageMs }: LayerPipeline, first: LayerPipeline): number {
  if (stageMs.length > 0) return stageMs.reduce((sum, ms) => sum + ms, 0);
  return first.stageMs.length > 0 ? fillMs(first, first) : first.stepMs;
}

/**
 * @returns float64 [shapeCount, maxBatch], ms; Infinity where there is no pipeline. Source:
 * Accordion §3, and its figures for the timing of the paper.
 */
export function latencyTable(
  pipelines: readonly (LayerPipeline | null)[],
  { maxBatch, timing }: Pick<AccordionOptions, "maxBatch" | "timing">,
): Table {
  const [first] = pipelines;
  if (!first) throw new RangeError("the first shape has a pipeline");
  const aloneMs = fillMs(first, first);
  const data = new Float64Array(pipelines.length * maxBatch).fill(Number.POSITIVE_INFINITY);
  const table: Table = { dtype: "float64", shape: [pipelines.length, maxBatch], data };
  const times = viewOf(table);
  for (const [shape, pipeline] of pipelines.entries()) {
    if (pipeline === null) continue;
    const startMs = fillMs(pipeline, first);
    for (let batch = 1; batch <= maxBatch; batch++) {
      const pipelinedMs = startMs + (batch - 1) * pipeline.stepMs;
      const paperMs = (batch * aloneMs) / pipeline.speedup;
      times.set(shape, batch - 1, timing === "paper" ? paperMs : pipelinedMs);
    }
  }
  return table;
}
