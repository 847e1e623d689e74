/** The time that decisions may spend of an SLO. */
import type { Cluster } from "../bundle/schema.ts";

/**
 * What is left of an SLO once the way through the server has its margin, ms: deadlines that core is
 * handed are that long after a request is taken up. It is above 0 wherever a bundle is sound.
 * @param latencyMs the SLO as clients have it.
 */
export function decisionSloMs({ serving }: Pick<Cluster, "serving">, latencyMs: number): number {
  return latencyMs - (serving?.marginMs ?? 0);
}
