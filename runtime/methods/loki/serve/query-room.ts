/** How many queries of a pipeline there is room for at a time. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { busyNames, pipelineShapeOf } from "../../../core/graph/pipeline-shape.ts";

/**
 * Room for what rows of requests become on their way: queries that wait, for each row that may be
 * pending.
 */
const QUERIES_PER_ROW = 16;

/** @param maxPending rows that are open at most. */
export function queryRoom(bundle: LokiBundle, maxPending: number): number {
  return QUERIES_PER_ROW * maxPending + busyNames(pipelineShapeOf(bundle));
}
