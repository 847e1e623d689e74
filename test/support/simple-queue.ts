/** A queue whose capacity is known: one server, Poisson arrivals, exponential service times. */
import type { Window } from "../../compiler/processes/level-request.ts";
import type { Rng } from "../../runtime/core/rng.ts";

const WINDOWS = 8;
const WINDOW_QUERIES = 1000;
/** Requests before the first that counts. */
const SETTLING = 1500;

export interface SimpleQueue {
  readonly serviceQps: number;
  readonly sloMs: number;
}

/** P[late] = exp(-(service rate - load) SLO), so this is the load at which it is the limit. */
export function capacityOf({ serviceQps, sloMs }: SimpleQueue, limit: number): number {
  return serviceQps + (1000 * Math.log(limit)) / sloMs;
}

/** Requests by windows, by Lindley's recursion. @param parts simulations, one after another. */
export function queueWindows(
  { serviceQps, sloMs }: SimpleQueue,
  loadQps: number,
  parts: number,
  rng: Rng,
): Window[] {
  return Array.from({ length: parts }, () => {
    const windows = Array.from({ length: WINDOWS }, () => {
      return { queries: WINDOW_QUERIES, late: 0, serverLate: 0, slow: 0 };
    });
    let waitMs = 0;
    for (let query = -SETTLING; query < WINDOWS * WINDOW_QUERIES; query++) {
      const ms = waitMs - (1000 / serviceQps) * Math.log(1 - rng.nextShortFloat());
      waitMs = Math.max(0, ms + (1000 / loadQps) * Math.log(1 - rng.nextShortFloat()));
      const window = windows[Math.floor(query / WINDOW_QUERIES)];
      if (window === undefined || ms <= sloMs / 2) continue;
      window.slow++;
      if (ms <= sloMs) continue;
      window.late++;
      window.serverLate++;
    }
    return windows;
  }).flat();
}
