/** The clock that all processes of a server share: that of the machine, which does not go back. */

/** @returns what is to be added to `nowMs` for the time of that clock, ms. */
export function sharedOffsetMs(nowMs: () => number): number {
  return Number(process.hrtime.bigint()) / 1e6 - nowMs();
}
