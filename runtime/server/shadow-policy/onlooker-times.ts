/** What workers take that are not there: what a method says of its bundle for that. */

export interface SupposedBatch {
  readonly worker: number;
  /** Among those of all tasks. */
  readonly variant: number;
  readonly rows: number;
  /** Class or bucket of its queries, by index. */
  readonly sloClass: number;
  /** Of the worker; 0 where workers have as many as they have. */
  readonly cores: number;
  /** Workers that compute when it starts, its own included. */
  readonly busyWorkers: number;
}

/** Of a method that gives each query places of its own, which it may change. */
export interface SupposedPlaces {
  readonly count: number;
  /** Until so many instances of a query are done on places of a shape, ms. */
  instanceMs(model: number, shape: number, instances: number): number;
  /** Until a query goes on that got other places, ms. */
  readonly reconfigurationMs: number;
}

export interface OnlookerTimes {
  /** Left out where workers run batches. */
  readonly places?: SupposedPlaces;
  /** What a batch takes, ms. */
  batchMs(batch: SupposedBatch): number;
  /** Until a worker holds the model that it is assigned, ms; 0 where workers hold all. */
  readonly loadMs: number;
  /** Until a worker has the cores that it is to have, ms; 0 where they stay as they are. */
  readonly resizeMs: number;
}

/**
 * How much longer a batch takes beside others.
 * @param contention by workers that compute at once, from one on; left out where nobody measured.
 */
export function stretchBeside(contention: readonly number[] | undefined, busy: number): number {
  if (contention === undefined) return 1;
  return contention[Math.min(busy, contention.length) - 1] ?? 1;
}
