/** A batch of rows as the scheduler keeps it from the command that starts it. */
import type { PaceMonitor } from "../../../core/pace.ts";
import { paceFields } from "../../../server/requests/batch-run.ts";
import type { OpenBatch } from "../../../server/requests/batch-runs.ts";
import type { Row } from "./batch-rows.ts";
import type { StartCommand } from "./recorded-dispatcher.ts";
import type { BatchStart } from "./scheduler-observer.ts";

export interface RunningBatch extends BatchStart, OpenBatch {}

/**
 * Its rows are of that variant from now on, and their requests have begun.
 * @param rows of its queries, in their order. @param monitor of the workers' pace.
 */
export function startedBatch(
  { worker, variant, level, queued, queries }: StartCommand,
  rows: readonly Row[],
  variantName: string,
  nowMs: number,
  monitor?: PaceMonitor,
): RunningBatch {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const { request, row } of rows) {
    request.variantByRow[row] = variant;
    if (!(request.startMs <= nowMs)) request.startMs = nowMs;
    earliestMs = Math.min(earliestMs, request.deadlineMs);
  }
  return {
    worker,
    variant,
    variantName,
    level,
    rows: queries.length,
    queued,
    slackMs: earliestMs - nowMs,
    ...paceFields(worker, monitor),
    queries,
    startMs: nowMs,
    handedMs: nowMs,
    kind: 0,
    busyWorkers: 0,
    endMs: Number.NaN,
    wallMs: Number.NaN,
  };
}
