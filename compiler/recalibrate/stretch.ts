/** Slowdown of batches by contention, relative to an idle machine. */

/**
 * Interpolates the contention curve of a profile at a mean number of busy workers.
 * @param contention service times with 1, 2, … workers busy, relative to one.
 * @param busyWorkers mean over time.
 * @param workers total number.
 */
export function stretchAt(
  contention: readonly number[],
  busyWorkers: number,
  workers: number,
): number {
  // A computing worker contends with itself, and with each of the others for the fraction of time
  // that one is busy.
  const others = workers <= 1 ? 0 : (busyWorkers * (workers - 1)) / workers;
  const at = Math.min(others, contention.length - 1);
  const low = Math.floor(at);
  const lower = contention[low] ?? 1;
  const upper = contention[low + 1] ?? lower;
  return lower + (at - low) * (upper - lower);
}
