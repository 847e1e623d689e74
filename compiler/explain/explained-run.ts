/** Compares a batch of a request with the bundle: its decision and its profiled times. */

import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { decidingLevel } from "stratagem-runtime/internal/describe/deciding-level";
import type { CompilerMethod } from "../methods/method.ts";
import type { BatchFacts, RanBatch } from "../model/batch-facts.ts";
import type { LoggedRun } from "./logged-request.ts";

export interface ExplainedRun extends LoggedRun, BatchFacts {
  /** Load of the level that decided; null if the bundle has no such level. */
  readonly levelQps: number | null;
  /** Worker pace that this level was solved for. */
  readonly levelPace: number;
  /**
   * Time in the worker as a multiple of the profiled median, or of the time that decisions assume.
   */
  readonly timesProfiled: number | null;
}

export function explainedRun(
  bundle: Bundle,
  method: CompilerMethod,
  run: LoggedRun,
  kind: string | null,
): ExplainedRun {
  const { task, variant, batch, level, queued, slackMs, pace, worker, places } = run;
  const state = { level, queued, slackMs, pace };
  const ran: RanBatch = { task, variant, batch, ...state, worker, kind, places };
  const decides = level === null ? undefined : decidingLevel(bundle, level);
  const facts = method.batchFacts(bundle, ran);
  return {
    ...run,
    ...facts,
    levelQps: decides?.loadQps ?? null,
    levelPace: decides?.pace ?? 1,
    timesProfiled: timesProfiled(run, facts),
  };
}

export function timesProfiled(
  { workerMs }: Pick<LoggedRun, "workerMs">,
  { profiled }: Pick<BatchFacts, "profiled">,
): number | null {
  if (profiled === null || workerMs === null) return null;
  return workerMs / (profiled.p50Ms ?? profiled.decisionMs);
}
