/** Measures the pace of a run: what its batches took over what a simulation of them takes. */
import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";

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

/** Enough rounds for three digits: contention changes slowly with the pace. */
const ROUNDS = 5;

/**
 * Finds the pace at which a simulation stretches batches as was measured: contention, which is
 * simulated, is not counted as pace.
 * @param simulated returns the stretch at a pace; null without batches.
 */
export async function paceFor(
  stretch: number,
  simulated: (pace: number) => Promise<number | null>,
): Promise<number | null> {
  let pace = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const found = await simulated(pace);
    if (found === null || found === 0) return null;
    pace = Math.min(MOST_PACE, Math.max(1 / MOST_PACE, (pace * stretch) / found));
  }
  return pace;
}

/** Beyond this a run says more about interruptions than about the processors. */
const MOST_PACE = 20;
