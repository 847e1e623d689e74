/** Whether a server kept up with what was sent to it. */

export interface OpenRun {
  /** What was sent per second. */
  readonly qps: number;
  readonly requests: number;
  /** From the first request to the last answer, s. */
  readonly seconds: number;
}

/** The last answers may come so much later than the last requests, as a share of the run. */
const BEHIND = 0.05;

/**
 * A queue that grows is answered after the last request: a run that takes longer than its schedule
 * was sent more than was answered, by the server or by who sends.
 */
export function isSteady({ qps, requests, seconds }: OpenRun): boolean {
  return seconds <= (1 + BEHIND) * (requests / qps);
}

/** Requests per second of one process with a core of its own, which takes µs for each. */
export function ceilingQps(microseconds: number): number {
  return 1e6 / microseconds;
}
