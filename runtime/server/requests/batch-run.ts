/** A batch in which rows of a request ran, for logs and traces, and the times of the request. */
import type { PaceMonitor } from "../../core/pace.ts";

export interface BatchRun {
  /** Left out where there is one task. */
  readonly task?: string;
  readonly variantName: string;
  /** Index of the level that decided; −1 where none does. */
  readonly level: number;
  /** Rows, or queries, of all requests in it. */
  readonly rows: number;
  /** Queries that waited where it was decided, its own included; 0 where nobody says. */
  readonly queued: number;
  /** Time to the earliest deadline at its start; negative when that was over. */
  readonly slackMs: number;
  /** Pace of its worker at the decision; omitted if 1 or not measured. */
  readonly pace?: number;
  /** Largest of the corrections by which decisions were made then; left out for 1. */
  readonly correction?: number;
  /** −1 where several ran it. */
  readonly worker: number;
  /** Which workers ran it together, and how many rows were done before; left out where one did. */
  readonly places?: readonly number[];
  readonly doneRows?: number;
  /** Of the clock of the server. */
  readonly startMs: number;
  /** When its worker had it. */
  readonly handedMs: number;
  /** NaN until it is over. */
  endMs: number;
  /** Time in the worker; NaN until it is over, and of one whose worker was lost. */
  wallMs: number;
  /** Whether its worker was lost; left out where it was not. */
  readonly isLost?: true;
}

/** Pace and corrections that a decision used. */
export function paceFields(
  worker: number,
  monitor: PaceMonitor | undefined,
): Pick<BatchRun, "pace" | "correction"> {
  const pace = monitor?.paceOf(worker) ?? 1;
  const correction = monitor?.mostCorrection ?? 1;
  return {
    ...(pace === 1 ? {} : { pace }),
    ...(correction === 1 ? {} : { correction }),
  };
}

/** A batch as its requests remember it when its worker was lost. */
export function lostRun(run: BatchRun, nowMs: number): BatchRun {
  const { variantName, level, rows, queued, slackMs, pace, worker, startMs, handedMs } = run;
  const task = run.task === undefined ? {} : { task: run.task };
  const of = pace === undefined ? task : { ...task, pace };
  const decided = { ...of, variantName, level, rows, queued, slackMs, worker };
  return { ...decided, startMs, handedMs, endMs: nowMs, wallMs: Number.NaN, isLost: true };
}

export interface AnswerTimes {
  /** From its arrival until its first batch began. */
  readonly queueMs: number;
  /** Until that batch was put together and handed to its worker. */
  readonly inputMs: number;
  /** Until its last result was there; of a pipeline with the waiting between its tasks. */
  readonly inferMs: number;
  /** When that was, by the server's clock: what follows is cutting and writing. */
  readonly doneMs: number;
}

/** Of one batch, in ms. */
export interface BatchTimes {
  /** Putting it together and handing it to the worker. */
  readonly inputMs: number;
  /** Until the result was there. */
  readonly inferMs: number;
  /** Cutting the result at its rows. */
  readonly outputMs: number;
}

/**
 * @param startMs NaN of a request of which nothing ran.
 * @param handedMs NaN where that was not seen.
 */
export function answerTimes(
  arrivalMs: number,
  startMs: number,
  handedMs: number,
  doneMs: number,
): AnswerTimes {
  const beginMs = Number.isNaN(startMs) ? doneMs : startMs;
  const ranMs = Number.isNaN(handedMs) ? beginMs : handedMs;
  return {
    queueMs: beginMs - arrivalMs,
    inputMs: ranMs - beginMs,
    inferMs: doneMs - ranMs,
    doneMs,
  };
}
