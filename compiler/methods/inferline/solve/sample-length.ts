/** Length of the sample traces of a load: long enough to determine a percentile. */

import { MAX_SPAN_MS } from "stratagem-runtime/internal/bundle/limits";
import type { InferlineOptions } from "stratagem-runtime/internal/bundle/schema";
import type { Trace } from "../../../spec/trace.ts";

/** Options that samples depend on. */
type SampleOptions = Pick<InferlineOptions, "sampleDurationMs" | "sampleRequests" | "traces">;

/** Time that a tuner remembers. Source: InferLine §5, 60 s, at an SLO of 100 ms. */
export const HORIZON_SLOS = 600;
/**
 * A drawn trace ends after this many requests unless the policy asks for more: more improve little.
 */
const ENOUGH_REQUESTS = 50_000;
/** Parts of a recorded trace that are reserved for a margin, and for held-out traces. */
const OTHER_PARTS = 2;

/**
 * Length of one sample trace, ms: that of the policy, or less if that has many requests, or the
 * time of its least number of requests at the load. A recorded trace leaves other parts.
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

/** Arrivals are replayed at the speed of the load, and rates are scaled to it. */
function lengthMs(recorded: Trace, loadQps: number): number {
  return recorded.kind === "rates"
    ? recorded.endMs
    : (1000 * (recorded.arrivalMs.length - 1)) / loadQps;
}

/** Enough to determine a violation rate of 1 % to a tenth of it, and a percentile. */
const ENOUGH_SIMULATED = 50_000;
const LEAST_SIMULATED = 10_000;
const LONG_SLOS = 60_000;
const MOST_SIMULATED = 1_000_000;

/** Simulated duration of a level, ms: at least as long as the tuner remembers, within bounds. */
export function simulatedMs(sloMs: number, sampleMs: number, loadQps: number): number {
  const gapMs = 1000 / loadQps;
  const enoughMs = Math.min(ENOUGH_SIMULATED * gapMs, Math.max(LONG_SLOS * sloMs, sampleMs));
  const leastMs = Math.max(LEAST_SIMULATED * gapMs, HORIZON_SLOS * sloMs);
  return Math.min(MOST_SIMULATED * gapMs, Math.max(leastMs, enoughMs));
}
