/** What plans reckon with for the way through the server: margins to try, and contention. */
import { sloLess } from "../model/planned-times.ts";
import { highestLoad } from "../model/solve-size.ts";
import { type PathMargins, pathMargins, shortestSloMs } from "../simulate/serving/path-margins.ts";
import { plannedStretch } from "../simulate/serving/planned-contention.ts";
import type { Application, Cluster, MeasuredServing } from "../spec/application.ts";
import { conflict, type Mistake } from "../spec/document/mistakes.ts";

/** Plans of an application that reckon with the way through the server. */
interface ServingPlan extends PathMargins {
  readonly stretch: number;
}

/**
 * The plan for the highest load; or for a request that is alone, where each level adds to that what
 * its own load takes.
 * @param byLevel which of them. @returns null where there is no path, or the spec says what hops
 * take.
 */
export function servingPlanOf(application: Application, byLevel: boolean): ServingPlan | null {
  const { cluster, slo, loads } = application;
  const { serving } = cluster;
  if (serving === undefined || !serving.isPlannedWith) return null;
  const qps = byLevel ? 0 : highestLoad(loads).qps;
  const batches = longestPath(application);
  const { pathMs, marginsMs } = pathMargins(serving, slo, qps, batches);
  return {
    pathMs,
    marginsMs: byLevel ? marginsMs.slice(0, 1) : marginsMs,
    stretch: plannedStretch(serving, coresOf(cluster), qps, batches),
  };
}

/** An SLO that the path alone takes. */
export function* pathMistakes(
  application: Application,
  { pathMs, marginsMs }: ServingPlan,
): Generator<Mistake> {
  const shortestMs = shortestSloMs(application.slo);
  const [marginMs = 0] = marginsMs;
  if (marginMs < shortestMs) return;
  const { requestBytes } = application.cluster.serving ?? { requestBytes: 0 };
  yield conflict(
    ["slo", "latency"],
    `expected more than the ${rounded(pathMs)} ms that the way through the server takes without ` +
      `any model (serving of the profile, requests of ${requestBytes} bytes), got ${shortestMs} ` +
      "ms; communicationLatency: 0 ms plans without it",
  );
}

/** The application as methods look for mistakes in it: its SLO is what decisions may spend. */
export function decidedApplication<A extends Application>(application: A, marginMs: number): A {
  const { serving: _, ...cluster } = application.cluster;
  return { ...application, cluster, slo: sloLess(application.slo, marginMs) };
}

/** What a mistake of that application comes from. */
export function ofDecisions({ message, ...mistake }: Mistake, marginMs: number): Mistake {
  const why = `${rounded(marginMs)} ms of the SLO are kept for the way through the server`;
  return { ...mistake, message: `${message} (${why})` };
}

/** The application planned with a margin. */
export function plannedApplication<A extends Application>(
  application: A,
  marginMs: number,
  stretch: number,
): A {
  const { cluster } = application;
  if (cluster.serving === undefined) return application;
  const serving: MeasuredServing = { ...cluster.serving, marginMs, stretch };
  return { ...application, cluster: { ...cluster, serving } };
}

/** Workers, each as many as it has cores. */
function coresOf({ pools }: Cluster): number {
  return pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
}

/** Tasks with models on the longest way through the graph. */
function longestPath({ tasks }: Application): number {
  const depths = new Map<string, number>();
  // A task may be said before those that lead to it, so ways are followed once for each task.
  for (let round = 0; round < tasks.length; round++) {
    for (const { name, passThrough, to } of tasks) {
      const own = depths.get(name) ?? (passThrough ? 0 : 1);
      depths.set(name, own);
      for (const { task } of to) {
        const next = tasks.find((one) => one.name === task);
        const depth = own + (next?.passThrough === true ? 0 : 1);
        if (depth > (depths.get(task) ?? 0)) depths.set(task, depth);
      }
    }
  }
  return Math.max(1, ...depths.values());
}

function rounded(ms: number): number {
  return Math.ceil(ms * 100) / 100;
}
