/** The pace of the workers of a server during a run, as its metrics state it. */

import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";
import { trafficCounts } from "stratagem-runtime/internal/describe/traffic-counts";

/** Between two samples. */
const SAMPLE_MS = 250;

export interface PaceSamples {
  /** Mean pace of the pool in a time, ms since 1970; null where no sample of it states one. */
  between(fromEpochMs: number, untilEpochMs: number): number | null;
  end(): void;
}

/**
 * Samples until it is ended.
 * @param read the text of the server's metrics. @param every calls back until what it gives is
 * called.
 */
export function samplePace(
  application: string,
  epochMs: () => number,
  read: () => Promise<string>,
  every: (intervalMs: number, callback: () => void) => () => void,
): PaceSamples {
  const samples: { readonly atMs: number; readonly pace: number }[] = [];
  const sample = async (): Promise<void> => {
    const pace = trafficCounts(metricValues(await read()), application)?.pace;
    if (pace !== undefined) samples.push({ atMs: epochMs(), pace });
  };
  // A server that does not answer in time is one sample less: the run itself says what is wrong.
  const end = every(SAMPLE_MS, () => void sample().catch(() => {}));
  return {
    between: (from, until) => {
      const own = samples.filter(({ atMs }) => atMs >= from && atMs <= until);
      return own.length === 0 ? null : own.reduce((sum, { pace }) => sum + pace, 0) / own.length;
    },
    end,
  };
}
