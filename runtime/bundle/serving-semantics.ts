/** Checks the margin that a bundle keeps for the path through the server. */
import type { Cluster, Slo, Table } from "./schema.ts";
import { checkSlacks, refuse } from "./table-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS unless the margin is less than any SLO. */
export function checkMargin({ serving }: Pick<Cluster, "serving">, slo: Slos): void {
  if (serving === undefined) return;
  refuseFrom(shortestOf(slo), serving.marginMs, "cluster.serving.marginMs", slo);
}

/** @throws BundleError BUNDLE_SEMANTICS unless a level's margin is the bundle's or more. */
export function checkLevelMargin(
  { marginMs }: { readonly marginMs?: number },
  { cluster, slo }: { readonly cluster: Pick<Cluster, "serving">; readonly slo: Slos },
  path: string,
): void {
  if (marginMs === undefined) return;
  const baseMs = cluster.serving?.marginMs;
  if (baseMs === undefined) refuse(`${path}.marginMs`, marginMs, "none without cluster.serving");
  else if (marginMs < baseMs) refuse(`${path}.marginMs`, marginMs, `at least ${baseMs}`);
  refuseFrom(shortestOf(slo), marginMs, `${path}.marginMs`, slo);
}

type Slos = Pick<Slo, "latencyMs" | "classes">;

function shortestOf({ latencyMs, classes = [] }: Slos): number {
  return Math.min(latencyMs, ...classes.map((one) => one.latencyMs));
}

function refuseFrom(shortestMs: number, marginMs: number, path: string, { classes }: Slos): void {
  if (marginMs < shortestMs) return;
  const whose = classes === undefined ? "slo.latencyMs" : "the shortest of slo.classes";
  refuse(path, marginMs, `less than ${shortestMs}, ${whose}`);
}

/**
 * Checks that a grid of slacks ends with the part of an SLO that decisions may use.
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
