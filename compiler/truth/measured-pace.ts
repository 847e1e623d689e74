/** Measures the pace of a run: what its batches took over what a simulation of them takes. */
import type { ServingPath } from "stratagem-runtime/internal/bundle/schema";
import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";
import type { AnsweredRequest } from "../explain/logged-request.ts";
import { meanOf, withoutOutliers } from "../profile/serving/spread.ts";

/**
 * Work of the server's process in a run relative to the profile: handing batches over and writing
 * answers, which depends on nothing that a promise is about. Null without answers.
 */
export function serverPaceOf(
  served: readonly Pick<AnsweredRequest, "totalMs" | "runs">[],
  { batchMs, answerMs }: Pick<ServingPath, "batchMs" | "answerMs">,
): number | null {
  const handing: number[] = [];
  const writing: number[] = [];
  const expected: number[] = [];
  for (const { totalMs, runs } of served) {
    const doneMs = Math.max(...runs.map((run) => run.doneMs ?? Number.NaN));
    const handed = runs.map(({ decidedMs, handedMs }) => (handedMs ?? NaN) - (decidedMs ?? NaN));
    if (Number.isNaN(doneMs) || handed.some(Number.isNaN)) continue;
    handing.push(meanOf(handed));
    writing.push(totalMs - doneMs);
    const batch = Math.max(...runs.map((run) => run.batch));
    // Answers of a batch are written in sequence.
    expected.push(batchMs.mean + (answerMs.mean * (batch + 1)) / 2);
  }
  const measuredMs = meanOf(withoutOutliers(handing)) + meanOf(withoutOutliers(writing));
  const expectedMs = meanOf(expected);
  if (measuredMs <= 0 || expectedMs <= 0) return null;
  return Math.min(MOST_PACE, Math.max(1 / MOST_PACE, measuredMs / expectedMs));
}

/** Beyond this the stamps of a request say more about interruptions than about the processor. */
const MOST_PACE = 4;

/** Service times of batches, sums in seconds. */
export interface BatchWork {
  readonly measured: number;
  readonly expected: number;
}

const WORK = "stratagem_work_seconds_total";

/** @param text of a server's `/metrics`. @returns null if it does not state them. */
export function batchWork(text: string): BatchWork | null {
  const sums = metricValues(text).filter(({ name }) => name === WORK);
  const sumOf = (time: string) => {
    return sums.reduce((sum, one) => sum + (one.labels.get("time") === time ? one.value : 0), 0);
  };
  return sums.length === 0 ? null : { measured: sumOf("measured"), expected: sumOf("expected") };
}

/** Ratio of measured to expected times between two readings; null without batches. */
export function stretchBetween(before: BatchWork | null, after: BatchWork | null): number | null {
  if (before === null || after === null) return null;
  const expected = after.expected - before.expected;
  return expected > 0 ? (after.measured - before.measured) / expected : null;
}
