/** Deadlines that clients set for their calls. */

/** The client's clock may run a little ahead of the server's, and it ends the call by its own. */
const SKEW_MS = 20;

/** Whether a call that is over ended by its deadline, on whichever side that was detected. */
export function isPast(deadline: Date | number): boolean {
  return Number(deadline) - SKEW_MS <= Date.now();
}
