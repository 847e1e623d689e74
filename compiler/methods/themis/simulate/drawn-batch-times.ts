/** Draws the service time of a batch by number of cores from measurements. */
import type { ScaledTask } from "stratagem-runtime/internal/bundle/schema";
import { KNOT_COUNT, quantileAt } from "stratagem-runtime/internal/core/quantile-distribution";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { batchKnotsOf } from "stratagem-runtime/internal/methods/themis/core/batch-knots";
import { InputError } from "../../../spec/document/input-error.ts";
import { BatchTimes } from "./batch-times.ts";

/** Returns whether the times of every batch can be drawn. */
export function haveBatchQuantiles(tasks: readonly ScaledTask[]): boolean {
  return tasks.every(({ variants }) => variants.every(({ latency }) => latency.quantiles));
}

/** Planned times, multiplied by a drawn ratio of measured time to p95 in the nearest cell. */
export class DrawnBatchTimes extends BatchTimes {
  /** Indexed by variant of all tasks, [maxCores, its maxBatch, KNOT_COUNT], relative to the p95. */
  readonly #knots: readonly Float64Array[];
  readonly #rng: Rng;

  /** @throws InputError INPUT_CONFLICT if a task has no quantiles. */
  constructor(tasks: readonly ScaledTask[], rng: Rng) {
    super(tasks);
    this.#rng = rng;
    const variants = tasks.flatMap((task) => task.variants.map((variant) => ({ task, variant })));
    this.#knots = variants.map(({ task, variant }) => {
      const knots = batchKnotsOf(variant.latency);
      if (knots !== null) return knots;
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
