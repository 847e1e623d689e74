/** Deadlines that clients set for their calls. */

/** The clock of a client may be a little before that of the server, and it ends its call by its. */
const SKEW_MS = 20;

/** Whether a call that is over ended by its deadline, on whichever side that was detected. */
export function isPast(deadline: Date | number): boolean {
  return Number(deadline) - SKEW_MS <= Date.now();
}
