/**
 * Starts, resizes and ends workers: the seam between what a plan wants and where it runs.
 * `AssignedPool` does it with processes of this machine, `RemoteAssigned` with workers elsewhere.
 *
 * A worker is ready, is assigned variants, holds them, and runs batches; meanwhile it may be
 * resized. It may be lost at any time, also in the middle of a change: that change is told of no
 * more, and the next assignment says the cores anew.
 */
export interface Scaler {
  /**
   * Starts what a worker needs to hold these variants on so many cores, or changes what it holds;
   * batches of others are refused from then on. `onModelReady` tells when.
   * @param cores at least 1; left out, those of a caller that never scales.
   */
  assign(worker: number, variants: readonly number[], cores?: number): void;
  /**
   * Gives a worker more or fewer cores while it serves: no batch is lost, rejected or sent back. A
   * batch under way keeps the cores it started with, the next one has those that were asked for
   * last. `onResized` tells when, never from within this call. Where nothing is assigned it does
   * nothing.
   */
  resize(worker: number, cores: number): void;
  /**
   * Ends what runs for a worker, after its batch; it counts as ready, and the next assignment
   * starts another.
   */
  release(worker: number): void;
}

export interface ScalerHandlers {
  /** Variants can be assigned: at the start, and again after the worker was lost. */
  readonly onReady: (worker: number) => void;
  /**
   * A worker holds the variants that it was assigned last.
   * @param loads how many of them it had to load.
   */
  readonly onModelReady: (worker: number, loads: number) => void;
  /**
   * The next batch of a worker runs on the cores that were asked for last; those asked for before
   * are not told of.
   */
  readonly onResized?: (worker: number, cores: number) => void;
  /** What ran for a worker ended by itself; its batch, if any, has been rejected just before. */
  readonly onLost: (worker: number, reason: string, isHung?: boolean) => void;
}

/**
 * Whether a worker can have so many cores; more than the machine has are none the faster, but do no
 * harm.
 */
export function isCoreCount(cores: number): boolean {
  return Number.isSafeInteger(cores) && cores >= 1;
}
