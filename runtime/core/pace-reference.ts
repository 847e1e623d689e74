/** Expected time of a batch by its profile: mean, variance and contention. */
import type { Cluster, ServiceTimes } from "../bundle/schema.ts";
import { cellOf, sizesUpTo } from "./pace.ts";
import { KNOT_COUNT, quantileKnots } from "./quantile-distribution.ts";

/** Variance over mean² of a batch whose profile states one number. */
export const UNKNOWN_VARIANCE = 0.0025;

/** Variance over mean² of times that take what a policy was computed with. */
export const FIXED_VARIANCE = 1e-4;

/** The times that a policy reckons with: means where quantiles were measured, or the decisions'. */
export type ReferenceMode = "measured" | "decision";

/** Expected times of one task's variants and batch sizes. */
export class PaceReference {
  readonly cellCount: number;
  /** Whether expected times are those that batches take on average. */
  readonly knowsMeans: boolean;
  readonly #maxBatch: number;
  readonly #sizes: number;
  /** [variantCount, maxBatch] */
  readonly #meanMs: Float64Array;
  readonly #variance: Float64Array;
  /** [variantCount, maxBatch]: p99 over mean. */
  readonly #rare: Float64Array;
  readonly #contention: readonly number[];
  /** Infinite where nothing is known of the machine. */
  readonly #processors: number;

  /**
   * @param mode `decision` where batches take what the policy was computed with.
   * @param contends whether workers take processors from each other.
   */
  constructor(
    times: ServiceTimes,
    { serving }: Pick<Cluster, "serving">,
    mode: ReferenceMode,
    contends = true,
  ) {
    const { decisionMs, quantiles } = times;
    const [variantCount = 0, maxBatch = 0] = decisionMs.shape;
    this.#maxBatch = maxBatch;
    this.#sizes = sizesUpTo(maxBatch);
    this.cellCount = variantCount * this.#sizes;
    this.#contention = (contends ? serving?.contention : undefined) ?? [];
    this.#processors = (contends ? serving?.processors : undefined) ?? Number.POSITIVE_INFINITY;
    this.knowsMeans = quantiles !== null || mode === "decision";
    if (quantiles === null || mode === "decision") {
      const stretch = serving?.stretch ?? 1;
      this.#meanMs = Float64Array.from(decisionMs.data, (ms) => ms / stretch);
      const variance = mode === "decision" ? FIXED_VARIANCE : UNKNOWN_VARIANCE;
      this.#variance = new Float64Array(this.#meanMs.length).fill(variance);
      this.#rare = new Float64Array(this.#meanMs.length).fill(1);
      return;
    }
    this.#meanMs = Float64Array.from(quantiles.meanMs.data);
    this.#rare = Float64Array.from(this.#meanMs, (mean, cell) => {
      return Math.max(1, (quantiles.p99Ms.data[cell] ?? mean) / mean);
    });
    this.#variance = Float64Array.from(this.#meanMs, (mean, cell) => {
      const [p50 = 0, p95 = 0, p99 = 0] = [quantiles.p50Ms, quantiles.p95Ms, quantiles.p99Ms].map(
        ({ data }) => data[cell],
      );
      return Math.max(FIXED_VARIANCE, varianceOf(quantileKnots(p50, p95, p99, mean)));
    });
  }

  /** @param busyWorkers that computed at once, this one included. */
  expectedMs(variant: number, batch: number, busyWorkers: number): number {
    const contention = this.#contention;
    const most = contention.length;
    let factor = most === 0 ? 1 : contention[Math.min(busyWorkers, most) - 1]!;
    // Beyond what was measured they share the processors.
    if (busyWorkers > most) factor *= Math.max(1, busyWorkers / Math.max(most, this.#processors));
    return this.#meanMs[variant * this.#maxBatch + batch - 1]! * factor;
  }

  /** The profile's p99 over its mean; 1 where the profile states one number. */
  rare(variant: number, batch: number): number {
    return this.#rare[variant * this.#maxBatch + batch - 1]!;
  }

  variance(variant: number, batch: number): number {
    return this.#variance[variant * this.#maxBatch + batch - 1]!;
  }

  cellOf(variant: number, batch: number): number {
    return cellOf(variant, batch, this.#sizes);
  }
}

const KNOT_PROBABILITY = [0, 0.5, 0.95, 0.99, 1];

/** Variance over mean² of a distribution that is linear between its quantiles. */
export function varianceOf(knots: Float64Array): number {
  let [mean, second] = [0, 0];
  for (let knot = 0; knot + 1 < KNOT_COUNT; knot++) {
    const [low = 0, high = 0] = [knots[knot], knots[knot + 1]];
    const share = (KNOT_PROBABILITY[knot + 1] ?? 1) - (KNOT_PROBABILITY[knot] ?? 0);
    mean += (share * (low + high)) / 2;
    second += (share * (low * low + low * high + high * high)) / 3;
  }
  return mean > 0 ? second / (mean * mean) - 1 : 0;
}
