/** What metrics of a pipeline are made of. */
import type { BatchTimes } from "../requests/request.ts";

export interface PipelineObserver {
  onBatchStart(batch: StartedBatch): void;
  onBatchDone(batch: StartedBatch, times: BatchTimes): void;
  /** @param reason as in the command buffer. */
  onQueryDropped(task: number, reason: number): void;
  /**
   * Rows of a request, all of which came to the same end.
   * @param accuracy of whoever answered; left out where nobody did.
   */
  onRowsDone(outcome: RowsOutcome, rows: number, accuracy?: number): void;
  /** @param variant among those of all tasks. */
  onFanout(variant: number, childTask: number, count: number): void;
  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void;
  /** A query whose worker was lost waits again. */
  onQueryRetried(): void;
}

export type RowsOutcome = "satisfied" | "late" | "dropped";

export interface StartedBatch {
  /** Index among the variants of all tasks. */
  readonly variant: number;
  readonly level: number;
  readonly rows: number;
  /** Time to the earliest deadline; negative when that is over. */
  readonly slackMs: number;
}
