/** A batch of queries of one task as the scheduler keeps it from the command that starts it. */
import type { PaceMonitor } from "../../core/pace.ts";
import type { OpenBatch } from "../requests/batch-runs.ts";
import { paceFields } from "../requests/request.ts";
import type { StartedBatch } from "./pipeline-observer.ts";
import type { PipelineCommand } from "./pipeline-recording.ts";
import type { PipelineQuery } from "./requests/pipeline-request.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";

export interface RunningBatch extends StartedBatch, OpenBatch {
  /** Latest deadline of its queries. */
  readonly deadlineMs: number;
}

type StartCommand = Extract<PipelineCommand, { readonly kind: "start-batch" }>;

/**
 * Assigns the variant to the queries of a batch and starts their requests.
 * @param queries those of the command, in their order. @param monitor of the workers' pace.
 */
export function startedBatch(
  { worker, variant, level, queued, queries: slots }: StartCommand,
  queries: readonly PipelineQuery[],
  { variants, tasks }: PipelineSignature,
  nowMs: number,
  monitor?: PaceMonitor,
): RunningBatch {
  let earliestMs = Number.POSITIVE_INFINITY;
  let latestMs = Number.NEGATIVE_INFINITY;
  for (const query of queries) {
    query.variant = variant;
    const { request } = query;
    if (Number.isNaN(request.startMs)) request.startMs = nowMs;
    earliestMs = Math.min(earliestMs, request.deadlineMs);
    latestMs = Math.max(latestMs, request.deadlineMs);
  }
  const { name: variantName, task } = at(variants, variant);
  return {
    worker,
    task: at(tasks, task).name,
    variant,
    variantName,
    level,
    rows: slots.length,
    queued,
    slackMs: earliestMs - nowMs,
    deadlineMs: latestMs,
    ...paceFields(worker, monitor),
    queries: slots,
    startMs: nowMs,
    handedMs: nowMs,
    kind: 0,
    busyWorkers: 0,
    endMs: Number.NaN,
    wallMs: Number.NaN,
  };
}
