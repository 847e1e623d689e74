/** Whether a query whose worker was lost is tried once more. */

/**
 * Workers that may be lost under a query: with the next it is given up, for what it asks may be
 * what ends them.
 */
const MOST_LOSSES = 1;

/**
 * Whether to retry a query after its worker was lost: once, and only while it is not late.
 * @param losses workers that were lost under it, this one included.
 */
export function mayTryAgain(losses: number, deadlineMs: number, nowMs: number): boolean {
  return losses <= MOST_LOSSES && nowMs < deadlineMs;
}
