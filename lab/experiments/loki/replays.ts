/** Days and steady loads, replayed on pipelines. */
import {
  type LokiSimulationResult,
  simulateLoki,
} from "stratagem/internal/methods/loki/simulate/simulate";
import type { Trace } from "stratagem/internal/spec/trace";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { mean, sum } from "../harness/numbers.ts";
import { twitterCounts } from "../harness/reference.ts";

const SEED = 1;
/**
 * A day of the trace is played in so many seconds, each with the mean rate of a part of the day.
 */
export const TRACE_SECONDS = 3525;
/** The recording lacks the last half hour of every day. */
const DAY_SECONDS = 84_600;
/** The day's highest rate over what the most accurate variants carry: that of the paper. */
export const PEAK_OF_HARDWARE = { traffic_tree: 2.5, social_media_1500: 2.7 };

export interface Day {
  readonly trace: Extract<Trace, { kind: "rates" }>;
  readonly meanQps: number;
}

/** The first day of the trace, its shape kept, the highest rate being `peakQps`. */
export function recordedDay(peakQps: number): Day {
  const counts = twitterCounts().slice(0, DAY_SECONDS);
  const width = DAY_SECONDS / TRACE_SECONDS;
  const rates = Array.from({ length: TRACE_SECONDS }, (_, bin) =>
    mean(counts.slice(bin * width, (bin + 1) * width)),
  );
  return dayOf(rates, peakQps);
}

/** From a tenth of the peak to the peak and back, as a cosine. */
export function smoothDay(peakQps: number): Day {
  const rates = Array.from({ length: TRACE_SECONDS }, (_, second) => {
    return 0.1 + 0.45 * (1 - Math.cos((2 * Math.PI * second) / TRACE_SECONDS));
  });
  return dayOf(rates, peakQps);
}

/** A rate for every second, the highest scaled to `peakQps`. */
function dayOf(rates: readonly number[], peakQps: number): Day {
  const scale = peakQps / Math.max(...rates);
  const qps = Float64Array.from(rates, (rate) => scale * rate);
  const startMs = Float64Array.from(rates, (_, second) => 1000 * second);
  return {
    trace: { kind: "rates", startMs, qps, endMs: 1000 * rates.length },
    meanQps: sum(qps) / qps.length,
  };
}

const OPTIONS = { seed: SEED, serviceTimes: "p95", fanout: "rounded" } as const;

export function replay(bundle: LokiBundle, { trace }: Day): LokiSimulationResult {
  const arrivals = { kind: "trace", trace } as const;
  const durationMs = trace.endMs;
  return simulateLoki(bundle, { ...OPTIONS, arrivals, durationMs, timeline: true });
}

export function steady(bundle: LokiBundle, qps: number): LokiSimulationResult {
  const arrivals = { kind: "poisson", qps } as const;
  return simulateLoki(bundle, { ...OPTIONS, arrivals, durationMs: 60_000 });
}
