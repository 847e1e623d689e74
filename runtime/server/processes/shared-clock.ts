/** The clock that all processes of a server share: that of the machine, which does not go back. */

/** Between two looks at a clock there may be a pause; the pair with the shortest one counts. */
const TRIES = 5;

/** @returns what is to be added to `nowMs` for the time of that clock, ms. */
export function sharedOffsetMs(nowMs: () => number): number {
  let offsetMs = 0;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES; tries++) {
    const beforeMs = nowMs();
    const sharedMs = Number(process.hrtime.bigint()) / 1e6;
    const afterMs = nowMs();
    if (afterMs - beforeMs >= leastMs) continue;
    leastMs = afterMs - beforeMs;
    offsetMs = sharedMs - (beforeMs + afterMs) / 2;
  }
  return offsetMs;
}
