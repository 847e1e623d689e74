/** Draws arrivals: Poisson, gamma, or recorded in a trace. */
import type { ArrivalModel } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import type { Trace } from "../spec/trace.ts";

/**
 * How queries arrive at the central queue. Rates are queries per second; `cv2` is the squared
 * coefficient of variation of the gaps.
 */
export type ArrivalProcess =
  | { readonly kind: "poisson"; readonly qps: number }
  | { readonly kind: "gamma"; readonly qps: number; readonly cv2: number }
  /** `startQps`: the rate before time 0, if it is known. */
  | { readonly kind: "trace"; readonly trace: Trace; readonly startQps?: number };

/** Arrival times in milliseconds, ascending, produced a block at a time. */
export interface ArrivalSource {
  /**
   * Writes the next arrivals.
   * @returns how many; fewer than the block holds when there are no more.
   */
  fill(blockMs: Float64Array): number;
}

/**
 * Returns the source of a process. A Poisson or gamma process begins at time 0, its first gap is
 * like every other, and it never ends.
 */
export function arrivalSource(process: ArrivalProcess, rng: Rng): ArrivalSource {
  switch (process.kind) {
    case "poisson":
      return new PoissonArrivals(process.qps, rng);
    case "gamma":
      return new GammaArrivals(process.qps, process.cv2, rng);
    case "trace":
      return process.trace.kind === "arrivals"
        ? new RecordedArrivals(process.trace.arrivalMs)
        : new PiecewisePoissonArrivals(process.trace, rng);
  }
}

/** Arrivals at a constant load; for a trace, a renewal process with the same burstiness. */
export function steadyArrivals(model: ArrivalModel, qps: number): ArrivalProcess {
  if (model.process === "gamma") return { kind: "gamma", qps, cv2: model.cv2 };
  if (model.process === "trace" && model.dispersion > 1) {
    return { kind: "gamma", qps, cv2: model.dispersion };
  }
  return { kind: "poisson", qps };
}

/** Rate at time 0; NaN for recorded arrivals whose rate is not known in advance. */
export function initialQps(process: ArrivalProcess): number {
  if (process.kind !== "trace") return process.qps;
  if (process.startQps !== undefined) return process.startQps;
  return process.trace.kind === "rates" ? (process.trace.qps[0] ?? Number.NaN) : Number.NaN;
}

class PoissonArrivals implements ArrivalSource {
  readonly #meanGapMs: number;
  readonly #rng: Rng;
  #nowMs = 0;

  constructor(qps: number, rng: Rng) {
    assert(qps > 0, "an arrival rate is positive");
    this.#meanGapMs = 1000 / qps;
    this.#rng = rng;
  }

  fill(blockMs: Float64Array): number {
    let nowMs = this.#nowMs;
    for (let index = 0; index < blockMs.length; index++) {
      nowMs += this.#meanGapMs * unitExponential(this.#rng);
      blockMs[index] = nowMs;
    }
    this.#nowMs = nowMs;
    return blockMs.length;
  }
}

/**
 * Renewal process whose gaps are gamma distributed with shape 1 / cv2: bursty above cv2 = 1, which
 * is Poisson, and regular below.
 */
class GammaArrivals implements ArrivalSource {
  readonly #shape: number;
  readonly #scaleMs: number;
  readonly #rng: Rng;
  #nowMs = 0;

  constructor(qps: number, cv2: number, rng: Rng) {
    assert(
      qps > 0 && cv2 > 0,
      "an arrival rate and a squared coefficient of variation are positive",
    );
    this.#shape = 1 / cv2;
    this.#scaleMs = (1000 / qps) * cv2;
    this.#rng = rng;
  }

  fill(blockMs: Float64Array): number {
    let nowMs = this.#nowMs;
    for (let index = 0; index < blockMs.length; index++) {
      nowMs += this.#scaleMs * unitGamma(this.#shape, this.#rng);
      blockMs[index] = nowMs;
    }
    this.#nowMs = nowMs;
    return blockMs.length;
  }
}

/**
 * Poisson process with a piecewise constant rate: a unit exponential is spent against the integral
 * of the rate, so it is exact across steps.
 */
class PiecewisePoissonArrivals implements ArrivalSource {
  readonly #startMs: Float64Array;
  readonly #qps: Float64Array;
  readonly #endMs: number;
  readonly #rng: Rng;
  #piece = 0;
  #nowMs: number;

  constructor(trace: Extract<Trace, { kind: "rates" }>, rng: Rng) {
    this.#startMs = trace.startMs;
    this.#qps = trace.qps;
    this.#endMs = trace.endMs;
    this.#rng = rng;
    this.#nowMs = trace.startMs[0] ?? trace.endMs;
  }

  fill(blockMs: Float64Array): number {
    let count = 0;
    while (count < blockMs.length && this.#advance()) blockMs[count++] = this.#nowMs;
    return count;
  }

  /**
   * Moves to the next arrival.
   * @returns false when the trace ends before it.
   */
  #advance(): boolean {
    let expected = unitExponential(this.#rng);
    while (this.#nowMs < this.#endMs) {
      const pieceEndMs = this.#startMs[this.#piece + 1] ?? this.#endMs;
      const perMs = (this.#qps[this.#piece] ?? 0) / 1000;
      const expectedInPiece = perMs * (pieceEndMs - this.#nowMs);
      if (expected < expectedInPiece) {
        this.#nowMs += expected / perMs;
        return true;
      }
      expected -= expectedInPiece;
      this.#nowMs = pieceEndMs;
      this.#piece++;
    }
    return false;
  }
}

class RecordedArrivals implements ArrivalSource {
  readonly #arrivalMs: Float64Array;
  #next = 0;

  constructor(arrivalMs: Float64Array) {
    this.#arrivalMs = arrivalMs;
  }

  fill(blockMs: Float64Array): number {
    const block = this.#arrivalMs.subarray(this.#next, this.#next + blockMs.length);
    blockMs.set(block);
    this.#next += block.length;
    return block.length;
  }
}

/** Exponential of mean 1, by inversion. */
function unitExponential(rng: Rng): number {
  return -Math.log(1 - rng.nextFloat());
}

/**
 * Gamma of scale 1. Source: Marsaglia and Tsang, "A simple method for generating gamma variables",
 * ACM TOMS 26(3), 2000.
 */
function unitGamma(shape: number, rng: Rng): number {
  // The rejection step needs a shape of at least 1; otherwise a gamma of shape + 1 is scaled down,
  // section 6 of the source.
  if (shape < 1) {
    return unitGamma(shape + 1, rng) * Math.exp(Math.log(1 - rng.nextFloat()) / shape);
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = standardNormal(rng);
    const root = 1 + c * x;
    const v = root * root * root;
    if (v <= 0) continue;
    const u = 1 - rng.nextFloat();
    if (Math.log(u) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Box–Muller, one of the pair. */
function standardNormal(rng: Rng): number {
  const radius = Math.sqrt(2 * unitExponential(rng));
  return radius * Math.cos(2 * Math.PI * rng.nextFloat());
}
