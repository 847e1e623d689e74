/** Converts the load generator's results to the figures of promises. */

import type { LoadResult } from "../load/run-load.ts";
import { proportionInterval } from "../numeric/proportion-interval.ts";
import type { SentRequests } from "./load-messages.ts";
import { outcomeOf, type RequestTimes } from "./request-times.ts";
import type { Interval, MeasuredOutcome } from "./truth-document.ts";

/** Latencies from the time of sending, in the order of the scheduled arrivals. */
export function measuredTimes(sent: SentRequests): RequestTimes {
  const { scheduledMs, sentMs, endMs, isAnswered } = sent;
  const order = Array.from(scheduledMs, (_, index) => index).sort(
    (one, other) => (scheduledMs[one] ?? 0) - (scheduledMs[other] ?? 0),
  );
  return {
    arrivalMs: Float64Array.from(order, (index) => scheduledMs[index] ?? Number.NaN),
    latencyMs: Float64Array.from(order, (index) => {
      if (isAnswered[index] !== 1) return Number.NaN;
      return (endMs[index] ?? Number.NaN) - (sentMs[index] ?? Number.NaN);
    }),
  };
}

/**
 * @param sloMs of the application; each request is judged by the SLO of its class.
 * @param predictedMs latencies of the same requests, in order of arrival. Intervals assume that
 * neighbours are as alike as theirs: otherwise a server that stalls would excuse itself.
 */
export function measuredOutcome(
  sent: SentRequests,
  { sendLagMs, errors, latencyMs }: Pick<LoadResult, "sendLagMs" | "errors" | "latencyMs">,
  sloMs: number,
  predictedMs: Float64Array,
): MeasuredOutcome {
  const inTime = Array.from(sent.isAnswered, (isAnswered, index) => {
    const latencyMs = (sent.endMs[index] ?? 0) - (sent.sentMs[index] ?? 0);
    return isAnswered === 1 && latencyMs <= (sent.sloMs[index] ?? sloMs);
  });
  const satisfied = inTime.filter(Boolean).length;
  const accuracies = sent.accuracy.filter((one, index) => inTime[index] && !Number.isNaN(one));
  const scores = sent.score.filter((one, index) => inTime[index] && !Number.isNaN(one));
  const isStated = accuracies.length === satisfied && satisfied > 0;
  const accuracy = isStated ? sum(accuracies) / satisfied : null;
  const measuredMs = measuredTimes(sent).latencyMs;
  const outcome = outcomeOf(measuredMs, sloMs, accuracy, latencyMs?.batches ?? 0, predictedMs);
  const count = inTime.length;
  return {
    ...outcome,
    violationRate: count === 0 ? 0 : (count - satisfied) / count,
    accuracyByLabels: proportionOf(sum(scores), scores.length),
    sendLagMs: sendLagMs === null ? null : { p50: sendLagMs.p50, p99: sendLagMs.p99 },
    errors,
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Returns the 99 % interval of the mean of scores from 0 to 1; null without scores. */
export function proportionOf(sum: number, asked: number): Interval | null {
  if (asked === 0) return null;
  const estimate = sum / asked;
  return { estimate, ...proportionInterval(estimate, asked), asked };
}
