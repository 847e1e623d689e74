/** Number of queries of a pipeline that fit at a time. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { busyNames, pipelineShapeOf } from "../../../core/graph/pipeline-shape.ts";

/** Waiting queries per pending row, to make room for the rows that edges make. */
const QUERIES_PER_ROW = 16;

/** @param maxPending rows that are open at most. */
export function queryRoom(bundle: LokiBundle, maxPending: number): number {
  return QUERIES_PER_ROW * maxPending + busyNames(pipelineShapeOf(bundle));
}
