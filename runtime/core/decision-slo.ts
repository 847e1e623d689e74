/** The time that decisions may spend of an SLO. */
import type { Cluster } from "../bundle/schema.ts";

type Served = Pick<Cluster, "serving">;

/**
 * Returns the SLO less the margin for the way through the server, ms: the core's deadlines are that
 * long after a request is accepted. It is above 0 in every valid bundle.
 * @param latencyMs the SLO as clients have it.
 */
export function decisionSloMs({ serving }: Served, latencyMs: number): number {
  return latencyMs - (serving?.marginMs ?? 0);
}

/** Parts of the deadline that the path of requests through the server takes, ms. */
export interface PathTimes {
  /** Part that decisions leave for the path. */
  readonly marginMs: number;
  /**
   * How long after the core's deadline an answer may be ready and still be in time: the margin less
   * the median time of client and network, both ways together.
   */
  readonly graceMs: number;
}

export function pathTimesOf({ serving }: Served): PathTimes {
  if (serving === undefined) return { marginMs: 0, graceMs: 0 };
  const { marginMs, wireMs } = serving;
  return { marginMs, graceMs: Math.max(0, marginMs - wireMs.p50) };
}
