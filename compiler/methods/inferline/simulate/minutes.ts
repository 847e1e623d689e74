/** Aggregates seconds into minutes. */
import type { InferlineTimelineSecond } from "./tally.ts";

const MINUTE_S = 60;

/** Totals of one minute; the last may be shorter. */
export interface InferlineMinute {
  /** Requests that arrived, and those of them that were late or dropped. */
  readonly requests: number;
  readonly violations: number;
  /** Mean cost of the replicas at the ends of its seconds. */
  readonly costPerHour: number;
}

export function minutesOf(seconds: readonly InferlineTimelineSecond[]): InferlineMinute[] {
  const minutes: InferlineMinute[] = [];
  for (let from = 0; from < seconds.length; from += MINUTE_S) {
    const minute = seconds.slice(from, from + MINUTE_S);
    minutes.push({
      requests: minute.reduce((sum, { requests }) => sum + requests, 0),
      violations: minute.reduce((sum, { violations }) => sum + violations, 0),
      costPerHour: minute.reduce((sum, { costPerHour }) => sum + costPerHour, 0) / minute.length,
    });
  }
  return minutes;
}

/** Largest share of a minute's requests that was late; 0 without requests. */
export function worstMinute(minutes: readonly InferlineMinute[]): number {
  return minutes.reduce((worst, { requests, violations }) => {
    return requests === 0 ? worst : Math.max(worst, violations / requests);
  }, 0);
}
