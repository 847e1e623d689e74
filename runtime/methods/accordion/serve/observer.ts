/** Events that the metrics of execution places are made of. */
export interface AccordionObserver {
  /** A query begins. @param slackMs time to its deadline; negative when that is over. */
  onStart(model: number, places: number, slackMs: number): void;
  /** A query that had begun goes on. @param placesBefore 0 if it had none, after a loss. */
  onReshape(model: number, placesBefore: number, places: number): void;
  /** @param reason as in the commands. */
  onQueryDropped(model: number, reason: number): void;
  /** @param ranMs from its first instance until its last was done. */
  onQueryDone(model: number, rows: number, ranMs: number): void;
  /** All rows of a request, which came to the same end. */
  onRowsDone(model: number, outcome: RowsOutcome, rows: number): void;
  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void;
  /** A query goes on, or waits, after it lost a place. */
  onQueryRetried(): void;
}

export type RowsOutcome = "satisfied" | "late" | "dropped";
