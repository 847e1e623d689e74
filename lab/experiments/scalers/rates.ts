/** Traffic of comparisons: rates that requests come at, by chance. */
import type { Trace } from "stratagem/internal/spec/trace";
import { mean } from "../harness/numbers.ts";
import { twitterCounts } from "../harness/reference.ts";

type Rates = Extract<Trace, { readonly kind: "rates" }>;

const DAY_SECONDS = 86_400;

export interface RatedTraffic {
  readonly arrivals: { readonly kind: "trace"; readonly trace: Rates };
  readonly durationMs: number;
}

/** Pieces of a rate each. */
export function steps(pieces: readonly (readonly [seconds: number, qps: number])[]): RatedTraffic {
  const startMs: number[] = [];
  let endMs = 0;
  for (const [seconds] of pieces) {
    startMs.push(endMs);
    endMs += 1000 * seconds;
  }
  const qps = pieces.map(([, rate]) => rate);
  return ratedTraffic(startMs, qps, endMs);
}

/** A rate for each second. */
export function perSecond(qps: readonly number[]): RatedTraffic {
  return ratedTraffic(
    qps.map((_, second) => 1000 * second),
    qps,
    1000 * qps.length,
  );
}

/** Bursts of as many seconds, one in every period, from its middle on. */
export function bursts(
  baseQps: number,
  burstQps: number,
  { burstS, everyS, count }: { burstS: number; everyS: number; count: number },
): RatedTraffic {
  const calmS = (everyS - burstS) / 2;
  const one = [
    [calmS, baseQps],
    [burstS, burstQps],
    [calmS, baseQps],
  ] as const;
  return steps(Array.from({ length: count }, () => one).flat());
}

/**
 * Twitter's requests of a recorded day, second by second, at another mean rate; seconds that were
 * not recorded have the rate before them.
 * @param day from 1 on; nothing is chosen with the last two, 13 and 14.
 */
export function twitterDay(day: number, meanQps: number): number[] {
  const counts = twitterCounts().slice((day - 1) * DAY_SECONDS, day * DAY_SECONDS);
  let last = counts.find((count) => count > 0) ?? 0;
  const filled = counts.map((count) => {
    if (count > 0) last = count;
    return last;
  });
  const scale = meanQps / mean(filled);
  return filled.map((count) => count * scale);
}

/** Part of a traffic that is given second by second, from one second to another. */
export function hoursOf(qps: readonly number[], fromH: number, toH: number): RatedTraffic {
  return perSecond(qps.slice(3600 * fromH, 3600 * toH));
}

function ratedTraffic(
  startMs: readonly number[],
  qps: readonly number[],
  endMs: number,
): RatedTraffic {
  const trace: Rates = {
    kind: "rates",
    startMs: Float64Array.from(startMs),
    qps: Float64Array.from(qps),
    endMs,
  };
  return { arrivals: { kind: "trace", trace }, durationMs: endMs };
}
