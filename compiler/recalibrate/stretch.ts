/** How much longer batches took than on a machine that does nothing else. */

/**
 * Of the curve of a profile at a mean number of busy workers, between two of its points linear.
 * @param contention service times with 1, 2, … workers busy, relative to one.
 * @param busyWorkers mean over time. @param workers that there are.
 */
export function stretchAt(
  contention: readonly number[],
  busyWorkers: number,
  workers: number,
): number {
  // Whoever computes sees itself, and each of the others as often as that one computes.
  const others = workers <= 1 ? 0 : (busyWorkers * (workers - 1)) / workers;
  const at = Math.min(others, contention.length - 1);
  const low = Math.floor(at);
  const lower = contention[low] ?? 1;
  const upper = contention[low + 1] ?? lower;
  return lower + (at - low) * (upper - lower);
}
