/** Events that the metrics of execution places are made of. */
import type { LossCause } from "../../../exec/models/scaler.ts";

export interface AccordionObserver {
  /** Called when a query begins. @param slackMs time to its deadline; negative if it has passed. */
  onStart(model: number, places: number, slackMs: number): void;
  /** Called when a started query resumes. @param placesBefore 0 if it had none, after a loss. */
  onReshape(model: number, placesBefore: number, places: number): void;
  /** @param reason as in the commands. */
  onQueryDropped(model: number, reason: number): void;
  /** @param ranMs from its first instance until its last was done. */
  onQueryDone(model: number, rows: number, ranMs: number): void;
  /** Called with all rows of a request, which have the same outcome. */
  onRowsDone(model: number, outcome: RowsOutcome, rows: number): void;
  onWorkerLost(cause: LossCause): void;
  /** Called when a query goes on, or waits, after it lost a place. */
  onQueryRetried(): void;
}

export type RowsOutcome = "satisfied" | "late" | "dropped";
