/** Combines arrivals, measurements, predictions and machine samples for each second of a run. */
import type { AnsweredRequest } from "../explain/logged-request.ts";
import { answered, quantileOf, type RequestTimes } from "./request-times.ts";
import type { TimelineSecond } from "./truth-document.ts";

/** Shares between two samples. */
export interface MachineSample {
  /** Milliseconds since the run began. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly stealShare: number | null;
  /** Share of one processor. */
  readonly serverShare: number | null;
}

interface TimelineSources {
  readonly durationMs: number;
  readonly sloMs: number;
  readonly measured: RequestTimes;
  readonly predicted: RequestTimes;
  /** Requests in the access log. */
  readonly served: readonly Pick<AnsweredRequest, "timeMs" | "queueMs" | "computeMs">[];
  /** Start of the run, ms since 1970. */
  readonly startEpochMs: number;
  readonly samples: readonly MachineSample[];
}

/** Returns an entry for each second, by arrival. */
export function timelineOf(sources: TimelineSources): TimelineSecond[] {
  const { durationMs, sloMs, measured, predicted, served, startEpochMs, samples } = sources;
  return Array.from({ length: Math.ceil(durationMs / 1000) }, (_, second) => {
    const own = within(measured, second);
    const expected = within(predicted, second);
    const inSecond = served.filter(
      ({ timeMs }) => Math.floor((timeMs - startEpochMs) / 1000) === second,
    );
    const looks = samples.filter(({ fromMs, untilMs }) => {
      return Math.floor((fromMs + untilMs) / 2000) === second;
    });
    return {
      second,
      arrived: own.length,
      late: lateOf(own, sloMs),
      p50Ms: quantileOf(answered(own), 50),
      p99Ms: quantileOf(answered(own), 99),
      queueMs: meanOf(inSecond.map(({ queueMs }) => queueMs)),
      computeMs: meanOf(inSecond.map(({ computeMs }) => computeMs)),
      predictedLate: lateOf(expected, sloMs),
      predictedP50Ms: quantileOf(answered(expected), 50),
      predictedP99Ms: quantileOf(answered(expected), 99),
      stealShare: meanOf(looks.map((look) => look.stealShare)),
      serverShare: meanOf(looks.map((look) => look.serverShare)),
    };
  });
}

/** Latencies of the requests that arrived in a second. */
function within({ arrivalMs, latencyMs }: RequestTimes, second: number): Float64Array {
  return latencyMs.filter((_, request) => {
    return Math.floor((arrivalMs[request] ?? Number.NaN) / 1000) === second;
  });
}

function lateOf(latencyMs: Float64Array, sloMs: number): number {
  return latencyMs.filter((ms) => !(ms <= sloMs)).length;
}

/** Mean of the known values; null if there is no known value. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
