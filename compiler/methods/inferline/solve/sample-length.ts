/** How long the sample traces of a load are: long enough for a percentile to say something. */

import { MAX_SPAN_MS } from "stratagem-runtime/internal/bundle/limits";
import type { InferlineOptions } from "stratagem-runtime/internal/bundle/schema";
import type { Trace } from "../../../spec/trace.ts";

/** What a sample is drawn by. */
type SampleOptions = Pick<InferlineOptions, "sampleDurationMs" | "sampleRequests" | "traces">;

/** Time that a tuner remembers. Source: InferLine §5, 60 s, at an SLO of 100 ms. */
export const HORIZON_SLOS = 600;
/** A drawn trace of more requests says little more, so it ends there unless more are asked for. */
const ENOUGH_REQUESTS = 50_000;
/** Parts of a recorded trace that are left for a margin, and for a judgement. */
const OTHER_PARTS = 2;

/**
 * Length of one sample trace, ms: that of the policy, or less where that has many requests, or as
 * long as its least number of requests takes at the load. A recorded trace leaves other parts.
 */
export function sampleLengthMs(
  { sampleDurationMs, sampleRequests = 0, traces }: SampleOptions,
  recorded: Trace | null,
  loadQps: number,
): number {
  const gapMs = 1000 / loadQps;
  const leastMs = Math.min(sampleRequests * gapMs, MAX_SPAN_MS / (traces + OTHER_PARTS));
  if (recorded === null) {
    return Math.max(leastMs, Math.min(sampleDurationMs, ENOUGH_REQUESTS * gapMs));
  }
  const partMs = lengthMs(recorded, loadQps) / (traces + OTHER_PARTS);
  return Math.max(sampleDurationMs, Math.min(leastMs, partMs));
}

/** Arrivals come at the speed of the load, and rates are scaled to it. */
function lengthMs(recorded: Trace, loadQps: number): number {
  return recorded.kind === "rates"
    ? recorded.endMs
    : (1000 * (recorded.arrivalMs.length - 1)) / loadQps;
}

/** Enough to tell a violation rate of 1 % to a tenth of it, and a percentile of it at all. */
const ENOUGH_SIMULATED = 50_000;
const LEAST_SIMULATED = 10_000;
const LONG_SLOS = 60_000;
const MOST_SIMULATED = 1_000_000;

/** How long a level is simulated, ms: at least as long as the tuner remembers, within bounds. */
export function simulatedMs(sloMs: number, sampleMs: number, loadQps: number): number {
  const gapMs = 1000 / loadQps;
  const enoughMs = Math.min(ENOUGH_SIMULATED * gapMs, Math.max(LONG_SLOS * sloMs, sampleMs));
  const leastMs = Math.max(LEAST_SIMULATED * gapMs, HORIZON_SLOS * sloMs);
  return Math.min(MOST_SIMULATED * gapMs, Math.max(leastMs, enoughMs));
}
