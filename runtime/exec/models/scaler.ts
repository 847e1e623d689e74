/**
 * Starts, resizes and ends workers: the interface between a plan and the machines it runs on.
 * `AssignedPool` implements it with processes of this machine, `RemoteAssigned` with remote
 * workers.
 *
 * A worker becomes ready, is assigned variants, holds them, and runs batches; meanwhile it may be
 * resized. It may be lost at any time, also during a change: no callback follows for that change,
 * and the next assignment states the cores again.
 */
export interface Scaler {
  /**
   * Starts what a worker needs to hold these variants on so many cores, or changes what it holds;
   * batches of other variants are refused from then on. `onModelReady` reports when it is done.
   * @param cores at least 1; left out by callers that never scale.
   */
  assign(worker: number, variants: readonly number[], cores?: number): void;
  /**
   * Gives a worker more or fewer cores while it serves: no batch is lost, rejected or sent back. A
   * running batch keeps the cores it started with; the next one has those requested last.
   * `onResized` reports when it is done, never from within this call. Does nothing for a worker
   * without an assignment.
   */
  resize(worker: number, cores: number): void;
  /**
   * Ends the process of a worker after its batch; the slot counts as ready, and the next assignment
   * starts another process.
   */
  release(worker: number): void;
}

/**
 * Why a worker was lost: its process ended, it did not answer in time, or it failed batches that
 * other workers ran.
 */
export type LossCause = "ended" | "hung" | "failing";

export interface ScalerHandlers {
  /** Called when variants can be assigned: at the start, and again after the worker was lost. */
  readonly onReady: (worker: number) => void;
  /**
   * Called when a worker holds the variants that it was assigned last.
   * @param loads number of variants it had to load.
   */
  readonly onModelReady: (worker: number, loads: number) => void;
  /**
   * Called when the next batch of a worker runs on the cores requested last; earlier requests are
   * not reported.
   */
  readonly onResized?: (worker: number, cores: number) => void;
  /**
   * Called when a worker's process ended by itself; its batch, if any, has been rejected just
   * before.
   */
  readonly onLost: (worker: number, reason: string, cause?: LossCause) => void;
}

/** Whether a core count is valid. More than the machine has gain nothing, but do no harm. */
export function isCoreCount(cores: number): boolean {
  return Number.isSafeInteger(cores) && cores >= 1;
}
