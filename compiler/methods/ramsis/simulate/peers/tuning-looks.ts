/** Arrivals on which the settings of a peer are compared: of the same kind and load, at random. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Trace } from "../../../../spec/trace.ts";
import type { ClusterOptions } from "../cluster-simulation.ts";

type Look = Pick<ClusterOptions, "arrivals" | "durationMs" | "counted">;

type Rates = Extract<Trace, { kind: "rates" }>;

/** Queries that are counted in the two looks, if the load is steady ... */
const FIRST_QUERIES = 15_000;
const SECOND_QUERIES = 60_000;
/** ... and the least number of SLOs for which queries are counted, for high rates. */
const FIRST_SLOS = 5;
const SECOND_SLOS = 20;
/** Uncounted SLOs before and after them: an empty cluster is not representative. */
const WARM_UP_SLOS = 10;
const COOL_DOWN_SLOS = 1;
/** The first look at a longer trace runs through its rates faster. */
const FIRST_TRACE_QUERIES = 100_000;

/** A first look at all settings, and a longer one at the best of them. */
export function tuningLooks({ arrivals, durationMs }: Look, sloMs: number): readonly [Look, Look] {
  if (arrivals.kind !== "trace") {
    const look = (queries: number, slos: number): Look => {
      const countedMs = Math.max((1000 * queries) / arrivals.qps, slos * sloMs);
      return steadyLook(arrivals, countedMs, sloMs);
    };
    return [look(FIRST_QUERIES, FIRST_SLOS), look(SECOND_QUERIES, SECOND_SLOS)];
  }
  const rates = ratesOf(arrivals.trace);
  const look = (part: number): Look => ({
    arrivals: { kind: "trace", trace: faster(rates, part) },
    durationMs: part * durationMs,
  });
  return [look(Math.min(1, FIRST_TRACE_QUERIES / expectedQueries(rates, durationMs))), look(1)];
}

function steadyLook(arrivals: Look["arrivals"], countedMs: number, sloMs: number): Look {
  const fromMs = WARM_UP_SLOS * sloMs;
  const untilMs = fromMs + countedMs;
  const durationMs = untilMs + COOL_DOWN_SLOS * sloMs;
  return { arrivals, durationMs, counted: { fromMs, untilMs } };
}

/**
 * Recorded arrivals must not be known in advance: random arrivals at the recorded rate of each
 * second replace them.
 */
function ratesOf(trace: Trace): Rates {
  if (trace.kind === "rates") return trace;
  const lastMs = trace.arrivalMs.at(-1);
  assert(lastMs !== undefined, "a trace has at least one arrival");
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

/** The same rates one after the other, each for a fraction of its time. */
function faster({ kind, startMs, qps, endMs }: Rates, part: number): Rates {
  return { kind, startMs: startMs.map((ms) => part * ms), qps, endMs: part * endMs };
}
