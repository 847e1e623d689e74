/** Decides whether to retry a query whose worker was lost. */

/**
 * Workers that may be lost under a query: with the next it is given up, because the query itself
 * may be the cause.
 */
const MOST_LOSSES = 1;

/**
 * Whether to retry a query after its worker was lost: once, and only while it is not late.
 * @param losses workers that were lost under it, this one included.
 */
export function mayTryAgain(losses: number, deadlineMs: number, nowMs: number): boolean {
  return losses <= MOST_LOSSES && nowMs < deadlineMs;
}
