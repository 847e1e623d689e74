/** Which service times the promises of a bundle of tables are made with. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";

/**
 * Whether they are drawn: as decided with, and with a serving path wherever there are quantiles.
 */
export function isSampled({
  policy,
  cluster,
  tasks,
}: Pick<RamsisBundle, "policy" | "cluster" | "tasks">): boolean {
  const hasQuantiles = tasks.every(({ serviceTimes }) => serviceTimes.quantiles !== null);
  return policy.serviceTimes === "quantiles" || (cluster.serving !== undefined && hasQuantiles);
}
