/** A batch in which rows of a request ran, as logs and traces tell of it. */

export interface BatchRun {
  /** Left out where there is one task. */
  readonly task?: string;
  readonly variantName: string;
  /** Index of the level that decided; −1 where none does. */
  readonly level: number;
  /** Rows, or queries, of all requests in it. */
  readonly rows: number;
  /** Time to the earliest deadline at its start; negative when that was over. */
  readonly slackMs: number;
  /** −1 where several ran it. */
  readonly worker: number;
  /** Of the clock of the server. */
  readonly startMs: number;
  /** NaN until it is over. */
  endMs: number;
  /** Time in the worker; NaN until it is over. */
  wallMs: number;
}
