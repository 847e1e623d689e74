/** How long the sample traces of a load are: long enough for a percentile to say something. */
import type { InferlineOptions } from "stratagem-runtime/internal/bundle/schema";
import type { Trace } from "../../../spec/trace.ts";

/** What a sample is drawn by. */
export type SampleOptions = Pick<
  InferlineOptions,
  "sampleDurationMs" | "sampleRequests" | "traces"
>;

/** A day: the longest trace. All traces of a plan together are no longer than a bundle can say. */
const MOST_MS = 86_400_000;
const MOST_TOGETHER_MS = 1e9;
/** Parts of a recorded trace that are left for a margin, and for a judgement. */
const OTHER_PARTS = 2;

/**
 * Length of one sample trace, ms: that of the policy, or as long as its least number of requests
 * takes at the load. A day at most, and not more of a recorded trace than leaves other parts.
 */
export function sampleLengthMs(
  { sampleDurationMs, sampleRequests, traces }: SampleOptions,
  recorded: Trace | null,
  loadQps: number,
): number {
  if (sampleRequests === undefined) return sampleDurationMs;
  const wantedMs = 1000 * Math.ceil(sampleRequests / loadQps);
  const recordedMs = recorded === null ? Number.POSITIVE_INFINITY : lengthMs(recorded, loadQps);
  const mostMs = Math.min(
    MOST_MS,
    Math.floor(MOST_TOGETHER_MS / traces),
    Math.floor(recordedMs / (traces + OTHER_PARTS)),
  );
  return Math.max(sampleDurationMs, Math.min(wantedMs, mostMs));
}

/** Arrivals come at the speed of the load, and rates are scaled to it. */
function lengthMs(recorded: Trace, loadQps: number): number {
  return recorded.kind === "rates"
    ? recorded.endMs
    : (1000 * (recorded.arrivalMs.length - 1)) / loadQps;
}

/** The options that are of use at some load: files of other loads stay as they were. */
export function neededRequests(
  options: SampleOptions,
  leastQps: number,
): Pick<InferlineOptions, "sampleRequests"> {
  const { sampleRequests, sampleDurationMs } = options;
  const isEnough = sampleLengthMs(options, null, leastQps) === sampleDurationMs;
  return sampleRequests === undefined || isEnough ? {} : { sampleRequests };
}
