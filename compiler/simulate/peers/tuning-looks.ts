/** On which arrivals the settings of a peer are compared: of the same kind and load, at random. */
import { assert } from "../../../runtime/core/assert.ts";
import type { Trace } from "../../spec/trace.ts";
import type { ClusterOptions } from "../cluster-simulation.ts";

export type Look = Pick<ClusterOptions, "arrivals" | "durationMs">;

type Rates = Extract<Trace, { kind: "rates" }>;

/** Queries of the two looks, where the load is steady. */
const FIRST_QUERIES = 20_000;
const SECOND_QUERIES = 60_000;
/** Of a longer trace the first look is at one that runs through its rates as much faster. */
const FIRST_TRACE_QUERIES = 100_000;

/** A first look at all settings, and a longer one at the best of them. */
export function tuningLooks({ arrivals, durationMs }: Look): readonly [Look, Look] {
  if (arrivals.kind !== "trace") {
    const look = (queries: number): Look => {
      return { arrivals, durationMs: (1000 * queries) / arrivals.qps };
    };
    return [look(FIRST_QUERIES), look(SECOND_QUERIES)];
  }
  const rates = ratesOf(arrivals.trace);
  const look = (part: number): Look => ({
    arrivals: { kind: "trace", trace: faster(rates, part) },
    durationMs: part * durationMs,
  });
  return [look(Math.min(1, FIRST_TRACE_QUERIES / expectedQueries(rates, durationMs))), look(1)];
}

/**
 * Recorded arrivals are never seen beforehand: others take their place, at random, at the rate that
 * was recorded in each second.
 */
function ratesOf(trace: Trace): Rates {
  if (trace.kind === "rates") return trace;
  const lastMs = trace.arrivalMs.at(-1);
  assert(lastMs !== undefined, "a trace has an arrival");
  const seconds = Math.floor(lastMs / 1000) + 1;
  const qps = new Float64Array(seconds);
  for (const ms of trace.arrivalMs) {
    const second = Math.floor(ms / 1000);
    qps[second] = (qps[second] ?? 0) + 1;
  }
  const startMs = Float64Array.from(qps, (_, second) => 1000 * second);
  return { kind: "rates", startMs, qps, endMs: 1000 * seconds };
}

function expectedQueries({ startMs, qps, endMs }: Rates, durationMs: number): number {
  const lastMs = Math.min(endMs, durationMs);
  return qps.reduce((sum, rate, piece) => {
    const pieceMs = Math.min(startMs[piece + 1] ?? endMs, lastMs) - (startMs[piece] ?? 0);
    return sum + (rate * Math.max(0, pieceMs)) / 1000;
  }, 0);
}

/** The same rates one after the other, each for a part of its time. */
function faster({ kind, startMs, qps, endMs }: Rates, part: number): Rates {
  return { kind, startMs: startMs.map((ms) => part * ms), qps, endMs: part * endMs };
}
