import type { ServiceTimeQuantiles, ServiceTimes } from "../../runtime/bundle/schema.ts";
import { assert } from "../../runtime/core/assert.ts";
import type { Rng } from "../../runtime/core/rng.ts";
import { InputError } from "../spec/input-error.ts";

/** `p95`: every batch takes the time the policy was computed with. `sampled`: a draw from the measured distribution. */
export type ServiceTimeMode = "p95" | "sampled";

export interface ServiceTimeModel {
  /** How long a batch takes, milliseconds. */
  nextMs(variant: number, batch: number): number;
}

/** @throws InputError INPUT_CONFLICT when samples are wanted and the profile had no quantiles. */
export function serviceTimeModel(
  times: ServiceTimes,
  mode: ServiceTimeMode,
  rng: Rng,
): ServiceTimeModel {
  if (mode === "p95") return new DecisionServiceTimes(times);
  if (times.quantiles === null) {
    throw new InputError(
      "INPUT_CONFLICT",
      "tasks[0].serviceTimes.quantiles: sampled service times need p50, p95, p99 and mean of every variant, " +
        "and the profile this bundle was compiled from has one number per batch; simulate with p95 service times",
    );
  }
  return new SampledServiceTimes(times.quantiles, rng);
}

class DecisionServiceTimes implements ServiceTimeModel {
  readonly #ms: Float64Array;
  readonly #maxBatch: number;

  constructor(times: ServiceTimes) {
    this.#ms = Float64Array.from(times.decisionMs.data);
    this.#maxBatch = times.decisionMs.shape[1] ?? 0;
  }

  nextMs(variant: number, batch: number): number {
    assert(batch <= this.#maxBatch, "a batch has a service time");
    return this.#ms[variant * this.#maxBatch + batch - 1] ?? Number.NaN;
  }
}

/** Probabilities at which the inverse distribution function has its knots. */
const KNOT_PROBABILITY = [0, 0.5, 0.95, 0.99, 1] as const;
const KNOT_COUNT = KNOT_PROBABILITY.length;

/**
 * Inverse distribution function, linear between the measured quantiles.
 *
 * Nothing was measured beyond p99: the maximum is put a quarter of p99 − p95 above it. The minimum lies between 0 and p50, where it makes
 * the mean the measured one, if one of these values does.
 */
class SampledServiceTimes implements ServiceTimeModel {
  /** [variantCount, maxBatch, KNOT_COUNT] */
  readonly #knotMs: Float64Array;
  readonly #maxBatch: number;
  readonly #rng: Rng;

  constructor(quantiles: ServiceTimeQuantiles, rng: Rng) {
    const { p50Ms, p95Ms, p99Ms, meanMs } = quantiles;
    this.#maxBatch = p50Ms.shape[1] ?? 0;
    this.#rng = rng;
    this.#knotMs = new Float64Array(p50Ms.data.length * KNOT_COUNT);
    for (let cell = 0; cell < p50Ms.data.length; cell++) {
      const p50 = p50Ms.data[cell] ?? Number.NaN;
      const p95 = p95Ms.data[cell] ?? Number.NaN;
      const p99 = p99Ms.data[cell] ?? Number.NaN;
      const max = p99 + (p99 - p95) / 4;
      const min = minimumMs(p50, p95, p99, max, meanMs.data[cell] ?? Number.NaN);
      this.#knotMs.set([min, p50, p95, p99, max], cell * KNOT_COUNT);
    }
  }

  nextMs(variant: number, batch: number): number {
    assert(batch <= this.#maxBatch, "a batch has a service time");
    const probability = this.#rng.nextFloat();
    const piece = pieceOf(probability);
    const from = KNOT_PROBABILITY[piece] ?? Number.NaN;
    const to = KNOT_PROBABILITY[piece + 1] ?? Number.NaN;
    const knot = (variant * this.#maxBatch + batch - 1) * KNOT_COUNT + piece;
    const fromMs = this.#knotMs[knot] ?? Number.NaN;
    const toMs = this.#knotMs[knot + 1] ?? Number.NaN;
    return fromMs + ((toMs - fromMs) * (probability - from)) / (to - from);
  }
}

/** The minimum with which the mean of the four linear pieces is `mean`, kept within [0, p50]. */
function minimumMs(p50: number, p95: number, p99: number, max: number, mean: number): number {
  const meanAboveMedian = 0.225 * (p50 + p95) + 0.02 * (p95 + p99) + 0.005 * (p99 + max);
  return Math.min(Math.max(4 * (mean - meanAboveMedian) - p50, 0), p50);
}

function pieceOf(probability: number): number {
  if (probability < 0.5) return 0;
  if (probability < 0.95) return 1;
  return probability < 0.99 ? 2 : 3;
}
