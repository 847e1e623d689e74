/** Measures the pace of instances from the batches that they run. */
import type { LatencyByCores, ThemisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import {
  cellOf,
  FIXED_VARIANCE,
  PaceMonitor,
  type ReferenceMode,
  sizesUpTo,
  UNKNOWN_VARIANCE,
  varianceOf,
} from "../../../core/pace.ts";
import { KNOT_COUNT, meanBetweenQuantiles } from "../../../core/quantile-distribution.ts";
import { batchKnotsOf } from "./batch-knots.ts";
import type { ThemisShape } from "./shape.ts";

/** Knot of p99, after the minimum, p50 and p95. */
const P99_KNOT = 3;

export interface InstancePaceOptions {
  /** Whether decisions follow the pace; default true. */
  readonly adapt?: boolean;
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
  /** Whether instances compete for processors as the bundle says; default true. */
  readonly contends?: boolean;
}

/** Compares each batch with the profile of its variant, size and cores. */
export class InstancePaces {
  readonly monitor: PaceMonitor;
  /** Expected time, variance over its square, and p99 over it by variant, [maxCores, maxBatch]. */
  readonly #meanMs: readonly Float64Array[];
  readonly #variance: readonly Float64Array[];
  readonly #rare: readonly Float64Array[];
  readonly #maxBatch: Uint32Array;
  readonly #contention: readonly number[];
  /** Sizes by powers of two of all variants. */
  readonly #sizes: number;
  /** Batch on each worker, and busy cores at its start, those of the batch included. */
  readonly #variant: Uint16Array;
  readonly #batch: Uint16Array;
  readonly #cores: Uint16Array;
  readonly #busy: Uint32Array;
  #busyCores = 0;

  constructor(bundle: ThemisBundle, shape: ThemisShape, options: InstancePaceOptions) {
    const { adapt = true, reference = "measured", contends = true } = options;
    const variants = bundle.tasks.flatMap((task) => task.variants);
    const latencies = variants.map((one) => one.latency);
    const expected = latencies.map((latency) => expectedOf(latency, reference));
    this.#meanMs = expected.map(({ meanMs }) => meanMs);
    this.#variance = expected.map(({ variance }) => variance);
    this.#rare = expected.map(({ rare }) => rare);
    this.#maxBatch = shape.maxBatchByTaskPool;
    this.#contention = contends ? (bundle.cluster.serving?.contention ?? []) : [];
    this.#sizes = sizesUpTo(Math.max(...shape.maxBatchByTaskPool));
    const { workerCount, variantCount } = shape;
    const knowsMeans =
      reference === "decision" || latencies.every(({ quantiles }) => quantiles !== undefined);
    // Batches of smaller rows than profiled do not show that instances are faster.
    const mayBeFaster = knowsMeans && variants.every(({ model }) => model?.buckets === undefined);
    const cellCount = variantCount * this.#sizes;
    this.monitor = new PaceMonitor(workerCount, cellCount, {
      adapt,
      mayBeFaster,
      beatMs: beatMsOf(bundle.slo),
      serving: bundle.cluster.serving,
    });
    // The controller decides the number of instances.
    this.monitor.share(1);
    this.#variant = new Uint16Array(workerCount);
    this.#batch = new Uint16Array(workerCount);
    this.#cores = new Uint16Array(workerCount);
    this.#busy = new Uint32Array(workerCount);
  }

  started(worker: number, variant: number, batch: number, cores: number): void {
    this.#busyCores += cores;
    this.#variant[worker] = variant;
    this.#batch[worker] = batch;
    this.#cores[worker] = cores;
    this.#busy[worker] = this.#busyCores;
  }

  /** Called when a worker has ended its batch. @param ranMs time in the worker; NaN if unknown. */
  done(worker: number, ranMs: number, nowMs: number): void {
    const busy = Math.max(this.#busyCores, this.#busy[worker]!);
    const [batch, cores] = [this.#batch[worker]!, this.#cores[worker]!];
    this.#stop(worker);
    if (!(ranMs >= 0) || cores === 0) return;
    const variant = this.#variant[worker]!;
    const at = (cores - 1) * this.#maxBatch[variant]! + batch - 1;
    const expectedMs = (this.#meanMs[variant]![at]! * this.#factor(busy)) / this.#factor(cores);
    const variance = this.#variance[variant]![at]!;
    const cell = cellOf(variant, batch, this.#sizes);
    const rareMs = expectedMs * this.#rare[variant]![at]!;
    this.monitor.onRun(worker, ranMs, expectedMs, variance, cell, nowMs, rareMs);
  }

  /** Records whether a worker is an instance that is up. */
  see(worker: number, isUp: boolean): void {
    if (isUp) this.monitor.onReady(worker);
    else {
      this.#stop(worker);
      this.monitor.onLost(worker);
    }
  }

  #stop(worker: number): void {
    this.#busyCores -= this.#cores[worker]!;
    this.#cores[worker] = 0;
  }

  /** Contention at a number of busy cores; measured times include that of their own batch. */
  #factor(busyCores: number): number {
    const most = this.#contention.length;
    return most === 0 ? 1 : this.#contention[Math.min(busyCores, most) - 1]!;
  }
}

interface Expected {
  readonly meanMs: Float64Array;
  readonly variance: Float64Array;
  readonly rare: Float64Array;
}

function expectedOf(latency: LatencyByCores, reference: ReferenceMode): Expected {
  const meanMs = Float64Array.from(latency.ms.data);
  const knots = reference === "decision" ? null : batchKnotsOf(latency);
  const rare = new Float64Array(meanMs.length).fill(1);
  const variance = new Float64Array(meanMs.length);
  if (knots === null) {
    variance.fill(reference === "decision" ? FIXED_VARIANCE : UNKNOWN_VARIANCE);
    return { meanMs, variance, rare };
  }
  for (let cell = 0; cell < meanMs.length; cell++) {
    const own = knots.subarray(cell * KNOT_COUNT, (cell + 1) * KNOT_COUNT);
    const mean = meanBetweenQuantiles(own, 0, 0, 1);
    meanMs[cell] = meanMs[cell]! * mean;
    rare[cell] = Math.max(1, own[P99_KNOT]! / mean);
    variance[cell] = Math.max(FIXED_VARIANCE, varianceOf(own));
  }
  return { meanMs, variance, rare };
}
