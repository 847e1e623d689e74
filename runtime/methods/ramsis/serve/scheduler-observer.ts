/** What metrics of a server of tables are made of. */
import type { BatchTimes } from "../../../server/requests/request.ts";

export interface SchedulerObserver {
  onBatchStart(batch: BatchStart): void;
  onBatchDone(batch: BatchStart, times: BatchTimes): void;
  /** @param sloClass index of its class, 0 where there are none. */
  onQueryDropped(sloClass: number): void;
  /** @param isLate whether its answer came after its deadline. @param variant that answered. */
  onQueryAnswered(isLate: boolean, sloClass: number, variant: number): void;
  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void;
  /** A row whose worker was lost waits again. */
  onQueryRetried(): void;
}

export interface BatchStart {
  readonly variant: number;
  readonly level: number;
  readonly rows: number;
  /** Time to the earliest deadline; negative when that is over. */
  readonly slackMs: number;
}
