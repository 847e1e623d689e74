/** The time that decisions may spend of an SLO. */
import type { Cluster } from "../bundle/schema.ts";

type Served = Pick<Cluster, "serving">;

/**
 * What is left of an SLO once the way through the server has its margin, ms: deadlines that core is
 * handed are that long after a request is taken up. It is above 0 wherever a bundle is sound.
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
   * How long after the deadline that core has of it a request is still in time where its answer is
   * made: the margin less what client and network take, both ways together, in the median.
   */
  readonly graceMs: number;
}

export function pathTimesOf({ serving }: Served): PathTimes {
  if (serving === undefined) return { marginMs: 0, graceMs: 0 };
  const { marginMs, wireMs } = serving;
  return { marginMs, graceMs: Math.max(0, marginMs - wireMs.p50) };
}
