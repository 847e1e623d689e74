/** Whether a query whose worker was lost is tried once more. */

/**
 * Workers that may be lost under a query: with the next it is given up, for what it asks may be
 * what ends them.
 */
const MOST_LOSSES = 1;

/**
 * A query is tried again once, and only as long as it is not late: nobody waits for what comes long
 * after. @param losses workers that were lost under it, this one included.
 */
export function mayTryAgain(losses: number, deadlineMs: number, nowMs: number): boolean {
  return losses <= MOST_LOSSES && nowMs < deadlineMs;
}
