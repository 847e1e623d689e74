/** What batches take: as decisions reckon with it, or drawn from what was measured. */
import type { ServiceTimeQuantiles, ServiceTimes } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { KNOT_COUNT, quantileAt, quantileKnots } from "./quantile-distribution.ts";
import type { Rng } from "./rng.ts";

export interface ServiceTimeModel {
  /** How long a batch takes, milliseconds. */
  nextMs(variant: number, batch: number): number;
}

/** Every batch takes the time that the policy was computed with. */
export class DecisionServiceTimes implements ServiceTimeModel {
  readonly #ms: Float64Array;
  readonly #maxBatch: number;

  /** @param stretch that is in the times, and is taken out of them. */
  constructor(times: ServiceTimes, stretch: number) {
    this.#ms = Float64Array.from(times.decisionMs.data, (ms) => ms / stretch);
    this.#maxBatch = times.decisionMs.shape[1] ?? 0;
  }

  nextMs(variant: number, batch: number): number {
    assert(batch <= this.#maxBatch, "a batch has a service time");
    return this.#ms[variant * this.#maxBatch + batch - 1] ?? Number.NaN;
  }
}

/** Draws from the distribution that `quantile-distribution.ts` makes of the measured quantiles. */
export class SampledServiceTimes implements ServiceTimeModel {
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
