/** What a bundle's margin for the way through the server must leave. */
import type { Cluster, Slo, Table } from "./schema.ts";
import { checkSlacks, refuse } from "./table-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS unless the margin is less than any SLO. */
export function checkMargin(
  { serving }: Pick<Cluster, "serving">,
  slo: Pick<Slo, "latencyMs" | "classes">,
): void {
  if (serving === undefined) return;
  const { classes = [] } = slo;
  const shortestMs = Math.min(slo.latencyMs, ...classes.map(({ latencyMs }) => latencyMs));
  if (serving.marginMs < shortestMs) return;
  const whose = classes.length === 0 ? "slo.latencyMs" : "the shortest of slo.classes";
  refuse("cluster.serving.marginMs", serving.marginMs, `less than ${shortestMs}, ${whose}`);
}

/**
 * The grid of slacks of some axes ends with what decisions may spend of an SLO.
 * @param names path of the axes, and of the SLO.
 */
export function checkSlackOf(
  slackMs: Table,
  { serving }: Pick<Cluster, "serving">,
  latencyMs: number,
  [path, whose]: readonly [string, string],
): void {
  const marginMs = serving?.marginMs ?? 0;
  const less = marginMs === 0 ? whose : `${whose} less cluster.serving.marginMs`;
  checkSlacks(slackMs, latencyMs - marginMs, `${path}.slackMs`, less);
}
