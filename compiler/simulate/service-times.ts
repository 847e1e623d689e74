/** Service times of batches in a simulation: drawn or looked up. */
import type { ServiceTimeQuantiles, ServiceTimes } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  KNOT_COUNT,
  quantileAt,
  quantileKnots,
} from "stratagem-runtime/internal/core/quantile-distribution";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { InputError } from "../spec/document/input-error.ts";

/**
 * `p95`: every batch takes the time the policy was computed with. `sampled`: a draw from the
 * measured distribution.
 */
export type ServiceTimeMode = "p95" | "sampled";

/** Streams between those of two draws. */
const DRAW_STREAMS = 100;

/** Returns random numbers for service times, which differ by the draw of the stations. */
export function serviceRng(seed: number, stream: number, stations?: { draw?: number }): Rng {
  return new Rng(seed, stream + DRAW_STREAMS * (stations?.draw ?? 0));
}

export interface ServiceTimeModel {
  /** Returns the service time of a batch, ms. */
  nextMs(variant: number, batch: number): number;
}

/**
 * @param stretch in the decision times of a bundle that is planned with contention, which is
 * simulated separately.
 * @throws InputError INPUT_CONFLICT if samples are requested and the profile had no quantiles.
 */
export function serviceTimeModel(
  times: ServiceTimes,
  mode: ServiceTimeMode,
  rng: Rng,
  stretch = 1,
): ServiceTimeModel {
  if (mode === "p95") return new DecisionServiceTimes(times, stretch);
  if (times.quantiles === null) {
    throw new InputError(
      "INPUT_CONFLICT",
      "tasks[0].serviceTimes.quantiles: sampled service times need p50, p95, " +
        "p99 and mean of every variant, and the profile this bundle was compiled from has one " +
        "number per batch; simulate with p95 service times",
    );
  }
  return new SampledServiceTimes(times.quantiles, rng);
}

/** Every batch takes the time that the policy was computed with. */
class DecisionServiceTimes implements ServiceTimeModel {
  readonly #ms: Float64Array;
  readonly #maxBatch: number;

  /** @param stretch contained in the times; they are divided by it. */
  constructor(times: ServiceTimes, stretch: number) {
    this.#ms = Float64Array.from(times.decisionMs.data, (ms) => ms / stretch);
    this.#maxBatch = times.decisionMs.shape[1] ?? 0;
  }

  nextMs(variant: number, batch: number): number {
    assert(batch <= this.#maxBatch, "a batch has a service time");
    return this.#ms[variant * this.#maxBatch + batch - 1] ?? Number.NaN;
  }
}

/**
 * Draws from the distribution that `quantile-distribution.ts` builds from the measured quantiles.
 */
class SampledServiceTimes implements ServiceTimeModel {
  /** [variantCount, maxBatch, KNOT_COUNT] */
  readonly #knotMs: Float64Array;
  readonly #maxBatch: number;
  readonly #rng: Rng;

  constructor({ p50Ms, p95Ms, p99Ms, meanMs }: ServiceTimeQuantiles, rng: Rng) {
    this.#maxBatch = p50Ms.shape[1] ?? 0;
    this.#rng = rng;
    this.#knotMs = new Float64Array(p50Ms.data.length * KNOT_COUNT);
    for (let cell = 0; cell < p50Ms.data.length; cell++) {
      const [p50, p95, p99, mean] = [p50Ms, p95Ms, p99Ms, meanMs].map(
        ({ data }) => data[cell] ?? Number.NaN,
      ) as [number, number, number, number];
      this.#knotMs.set(quantileKnots(p50, p95, p99, mean), cell * KNOT_COUNT);
    }
  }

  nextMs(variant: number, batch: number): number {
    assert(batch <= this.#maxBatch, "a batch has a service time");
    const cell = variant * this.#maxBatch + batch - 1;
    return quantileAt(this.#knotMs, cell * KNOT_COUNT, this.#rng.nextFloat());
  }
}
