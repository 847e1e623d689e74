/** Samples the pace of a server's workers from its metrics during a run. */

import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";
import { trafficCounts } from "stratagem-runtime/internal/describe/traffic-counts";

/** Interval of samples. */
const SAMPLE_MS = 250;

export interface PaceSamples {
  /** Mean pace of the pool in an interval, ms since 1970; null if no sample in it states one. */
  between(fromEpochMs: number, untilEpochMs: number): number | null;
  end(): void;
}

/**
 * Samples until ended.
 * @param read returns the server's metrics. @param every calls back periodically until the returned
 * function is called.
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
  // A failed sample is skipped; the run itself reports server errors.
  const end = every(SAMPLE_MS, () => void sample().catch(() => {}));
  return {
    between: (from, until) => {
      const own = samples.filter(({ atMs }) => atMs >= from && atMs <= until);
      return own.length === 0 ? null : own.reduce((sum, { pace }) => sum + pace, 0) / own.length;
    },
    end,
  };
}
