/**
 * The traces that plans are made and judged with: drawn from the arrival process, or parts of a
 * recorded trace.
 */
import { type TaskGraph, taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import type { InferlineFrame } from "../../../model/frames.ts";
import type { ArrivalProcess } from "../../../simulate/arrivals.ts";
import { drawArrivals } from "../../../simulate/graph/drawn-requests.ts";
import { type RequestTrace, tossWays } from "../../../simulate/graph/visits.ts";
import type { Trace } from "../../../spec/trace.ts";
import { sampleLengthMs } from "./sample-length.ts";

/** Seeds of traces that are not planned with begin this far from those that are. */
const CALIBRATION_SEEDS = 1_000_000;
const HELD_OUT_SEEDS = 2_000_000;

/**
 * Traces of the same length, that of their load: plans are made with samples, margins are chosen
 * with calibration traces, and held-out traces only judge.
 */
export class SampleTraces {
  readonly #frame: InferlineFrame;
  readonly #loadQps: number;
  readonly #graph: TaskGraph;
  readonly lengthMs: number;

  constructor(frame: InferlineFrame, loadQps: number) {
    this.lengthMs = sampleLengthMs(frame.policy, frame.recorded, loadQps);
    this.#frame = frame;
    this.#loadQps = loadQps;
    this.#graph = taskGraphOf(frame);
  }

  samples(count: number): RequestTrace[] {
    return [...this.#traces(0, 0, count)];
  }

  calibration(count: number): RequestTrace[] {
    return [...this.#traces(CALIBRATION_SEEDS, this.#frame.policy.traces, count)];
  }

  /**
   * Follows the parts of a recorded trace that plans are made with; holds one trace at a time in
   * memory.
   */
  heldOut(count: number, after: number): Iterable<RequestTrace> {
    return this.#traces(HELD_OUT_SEEDS, this.#frame.policy.traces + after, count);
  }

  /**
   * @param part of a recorded trace, which may have fewer parts than requested; parts without
   * requests are left out.
   */
  *#traces(firstSeed: number, part: number, count: number): Generator<RequestTrace> {
    for (let index = 0; index < count; index++) {
      const seed = this.#frame.policy.sampleSeed + firstSeed + index;
      const arrivalMs = this.#arrivals(seed, part + index);
      if (arrivalMs.length === 0) continue;
      yield { arrivalMs, ...tossWays(this.#graph, arrivalMs.length, seed) };
    }
  }

  #arrivals(seed: number, part: number): Float64Array {
    const { recorded, arrivals } = this.#frame;
    const durationMs = this.lengthMs;
    const qps = this.#loadQps;
    if (arrivals.process === "trace") {
      if (recorded === null) throw new RangeError("the recorded trace is missing");
      const fromMs = part * durationMs;
      if (recorded.kind === "arrivals") {
        return cut(recorded.arrivalMs, qps / meanQps(recorded), fromMs, fromMs + durationMs);
      }
      const trace = scaled(recorded, qps / meanQps(recorded));
      const endMs = fromMs + durationMs;
      return cut(drawArrivals({ kind: "trace", trace }, endMs, seed), 1, fromMs, endMs);
    }
    const process: ArrivalProcess =
      arrivals.process === "gamma"
        ? { kind: "gamma", qps, cv2: arrivals.cv2 }
        : { kind: "poisson", qps };
    return drawArrivals(process, durationMs, seed);
  }
}

/**
 * Returns whether every trace can be drawn or read: a bundle alone does not hold a recorded one.
 */
export function hasTraces({ arrivals, recorded }: InferlineFrame): boolean {
  return arrivals.process !== "trace" || recorded !== null;
}

/** Replays recorded arrivals at another speed, from one time, the new 0, to another. */
function cut(arrivalMs: Float64Array, speed: number, fromMs: number, toMs: number): Float64Array {
  return arrivalMs.map((ms) => ms / speed - fromMs).filter((ms) => ms >= 0 && ms < toMs - fromMs);
}

function meanQps(trace: Trace): number {
  if (trace.kind === "arrivals") {
    const lastMs = trace.arrivalMs.at(-1) ?? 0;
    // Counts gaps, one fewer than arrivals; a single arrival gives no rate.
    return lastMs > 0 ? (1000 * (trace.arrivalMs.length - 1)) / lastMs : 1;
  }
  let queries = 0;
  for (const [piece, qps] of trace.qps.entries()) {
    const endMs = trace.startMs[piece + 1] ?? trace.endMs;
    queries += (qps * (endMs - (trace.startMs[piece] ?? 0))) / 1000;
  }
  return (1000 * queries) / trace.endMs;
}

function scaled(trace: Extract<Trace, { kind: "rates" }>, factor: number): Trace {
  return { ...trace, qps: trace.qps.map((qps) => qps * factor) };
}
