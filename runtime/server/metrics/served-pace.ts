/** The pace of the workers of a running server, as endpoints tell it. */

import { head, line, type MetricLine } from "../../base/exposition.ts";
import type { Pool } from "../../bundle/schema.ts";
import type { PaceMonitor } from "../../core/pace.ts";

export interface ServedPace {
  /** Pace of all workers that are up: profiled capacity over measured capacity. */
  readonly pool: number;
  /** Load on the cluster as profiled for each query, with workers that are down counted. */
  readonly stretch: number;
  /** Workers that are up. */
  readonly workers: readonly WorkerPace[];
  /** Sums over all batches: what they took, and what the profile expects of them, ms. */
  readonly ranMs: number;
  readonly expectedMs: number;
  /** Variants and batch sizes that take longer than the pace explains. */
  readonly corrections: readonly PaceCorrection[];
}

export interface WorkerPace {
  readonly pool: string;
  readonly worker: number;
  readonly pace: number;
}

export interface PaceCorrection {
  readonly variant: string;
  /** Smallest of the batch sizes that it is for: those up to twice as large have the same. */
  readonly batch: number;
  /** Measured time over the profiled one, beyond the pace. */
  readonly correction: number;
}

/** Names a cell of the monitor. */
export interface NamedCell {
  readonly cell: number;
  readonly variant: string;
  readonly batch: number;
}

/** @param pools of the workers, in their order. */
export function servedPace(
  monitor: PaceMonitor,
  pools: readonly Pick<Pool, "name" | "workers">[],
  cells: readonly NamedCell[] = [],
): ServedPace {
  const names = pools.flatMap(({ name, workers }) => new Array<string>(workers).fill(name));
  const workers = names.flatMap((pool, worker) => {
    return monitor.isUp(worker)
      ? [{ pool, worker, pace: rounded(monitor.meanPaceOf(worker)) }]
      : [];
  });
  const corrections = cells.flatMap(({ cell, variant, batch }) => {
    const correction = rounded(monitor.correctionOf(cell));
    return correction === 1 ? [] : [{ variant, batch, correction }];
  });
  const { poolPace, stretch, ranMs, expectedMs } = monitor;
  const pool = rounded(poolPace);
  return { pool, stretch: rounded(stretch), workers, ranMs, expectedMs, corrections };
}

export function paceLines({ workers, ranMs, expectedMs }: ServedPace): MetricLine[] {
  const pace = "stratagem_pace";
  const work = "stratagem_work_seconds_total";
  return [
    head(work, "counter", "Service times of batches as measured, and as expected of them"),
    line(work, { time: "measured" }, ranMs / 1000),
    line(work, { time: "expected" }, expectedMs / 1000),
    head(pace, "gauge", "Service times of a worker relative to the profile; 1 means as profiled"),
    ...workers.map(({ pool, worker, pace: value }) =>
      line(pace, { pool, worker: String(worker) }, value),
    ),
  ];
}

/** Products of the grid of paces. */
function rounded(pace: number): number {
  return Math.round(pace * 1000) / 1000;
}
