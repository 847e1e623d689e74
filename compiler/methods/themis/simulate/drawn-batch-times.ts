/** Draws what a batch takes on so many cores from what was measured. */
import type { LatencyByCores, ScaledTask } from "stratagem-runtime/internal/bundle/schema";
import {
  KNOT_COUNT,
  quantileAt,
  quantileKnots,
} from "stratagem-runtime/internal/core/quantile-distribution";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { InputError } from "../../../spec/input-error.ts";
import { BatchTimes } from "./batch-times.ts";

/** Whether the times of every batch can be drawn. */
export function haveBatchQuantiles(tasks: readonly ScaledTask[]): boolean {
  return tasks.every(({ variants }) => variants.every(({ latency }) => latency.quantiles));
}

/**
 * What was planned with, times a draw of how measured times of the nearest cell were to their p95:
 * the same cores, or the nearest that were measured, and of those the nearest batch; nearness is a
 * ratio, and of two that are as near the smaller is taken.
 */
export class DrawnBatchTimes extends BatchTimes {
  /** By variant of all tasks, [maxCores, its maxBatch, KNOT_COUNT], relative to the p95. */
  readonly #knots: readonly Float64Array[];
  readonly #rng: Rng;

  /** @throws InputError INPUT_CONFLICT where a task has no quantiles. */
  constructor(tasks: readonly ScaledTask[], rng: Rng) {
    super(tasks);
    this.#rng = rng;
    const variants = tasks.flatMap((task) => task.variants.map((variant) => ({ task, variant })));
    this.#knots = variants.map(({ task, variant }) => {
      if (variant.latency.quantiles !== undefined) return knotsOf(variant.latency);
      throw new InputError(
        "INPUT_CONFLICT",
        `tasks/${task.name}/${variant.name}: sampled service times need p50, p95, p99 and mean ` +
          "of every batch in byCores, and rows of serving in the profile, and this bundle was " +
          "compiled from one without; simulate with p95 service times",
      );
    });
  }

  override nextMs(variant: number, batch: number, cores: number): number {
    const knots = this.#knots[variant] ?? NO_KNOTS;
    const from = this.cell(variant, batch, cores) * KNOT_COUNT;
    return super.nextMs(variant, batch, cores) * quantileAt(knots, from, this.#rng.nextFloat());
  }
}

const NO_KNOTS = new Float64Array(0);

/** By cell of the table, the knots of the point that is nearest. */
function knotsOf({ ms, points, quantiles }: LatencyByCores): Float64Array {
  const [maxCores = 0, maxBatch = 0] = ms.shape;
  const measured = Array.from({ length: points.shape[0] ?? 0 }, (_, point) => {
    const [batch = 0, cores = 0] = points.data.subarray(3 * point);
    const [p50 = 0, p95 = 0, p99 = 0, mean = 0] = quantiles?.data.subarray(4 * point) ?? [];
    return { batch, cores, knots: quantileKnots(p50 / p95, 1, p99 / p95, mean / p95) };
  });
  const knots = new Float64Array(maxCores * maxBatch * KNOT_COUNT);
  for (let cores = 1; cores <= maxCores; cores++) {
    const near = nearest(measured, cores, (one) => one.cores);
    const row = measured.filter((one) => one.cores === near?.cores);
    for (let batch = 1; batch <= maxBatch; batch++) {
      const cell = (cores - 1) * maxBatch + batch - 1;
      knots.set(nearest(row, batch, (one) => one.batch)?.knots ?? [], cell * KNOT_COUNT);
    }
  }
  return knots;
}

/** @param all ascending in what is compared. */
function nearest<Point>(
  all: readonly Point[],
  wanted: number,
  sizeOf: (point: Point) => number,
): Point | undefined {
  const apart = (point: Point) => Math.max(sizeOf(point) / wanted, wanted / sizeOf(point));
  let best = all[0];
  for (const point of all) if (best !== undefined && apart(point) < apart(best)) best = point;
  return best;
}
