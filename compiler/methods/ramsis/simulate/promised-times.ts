/** Service times with which the promises of a bundle of tables are made. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";

/**
 * Returns whether they are drawn: like those of decisions; with a serving path, whenever there are
 * quantiles.
 */
export function isSampled({
  policy,
  cluster,
  tasks,
}: Pick<RamsisBundle, "policy" | "cluster" | "tasks">): boolean {
  const hasQuantiles = tasks.every(({ serviceTimes }) => serviceTimes.quantiles !== null);
  return policy.serviceTimes === "quantiles" || (cluster.serving !== undefined && hasQuantiles);
}
