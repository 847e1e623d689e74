/** Events from which the metrics of a pipeline are computed. */
import type { LossCause } from "../../exec/models/scaler.ts";
import type { BatchTimes } from "../requests/request.ts";

export interface PipelineObserver {
  onBatchStart(batch: StartedBatch): void;
  onBatchDone(batch: StartedBatch, times: BatchTimes): void;
  /** @param reason as in the command buffer. */
  onQueryDropped(task: number, reason: number): void;
  /**
   * Called when rows of a request ended with the same outcome.
   * @param accuracy of the variants that answered. Default: no answer.
   */
  onRowsDone(outcome: RowsOutcome, rows: number, accuracy?: number): void;
  /** @param variant among those of all tasks. */
  onFanout(variant: number, childTask: number, count: number): void;
  onWorkerLost(cause: LossCause): void;
  /** Called when a query whose worker was lost waits again. */
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
