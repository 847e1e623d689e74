/** Serving-path allowances of plans: candidate margins, and contention. */
import { sloLess } from "../model/planned-times.ts";
import { highestLoad } from "../model/solve-size.ts";
import { type PathMargins, pathMargins, shortestSloMs } from "../simulate/serving/path-margins.ts";
import { plannedStretch } from "../simulate/serving/planned-contention.ts";
import type { Application, Cluster, MeasuredServing } from "../spec/application.ts";
import { conflict, type Mistake } from "../spec/document/mistakes.ts";

/** Serving-path allowances of an application's plans. */
interface ServingPlan extends PathMargins {
  readonly stretch: number;
}

/**
 * Returns the plan for the highest load or, by level, for a single request, to which each level
 * adds the allowance for its own load.
 * @returns null without a serving path, or if the spec states the latency of hops.
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

/** Yields a mistake for an SLO that the serving path alone exceeds. */
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
    `expected more than the ${rounded(pathMs)} ms of the serving path without ` +
      `any model (serving of the profile, requests of ${requestBytes} bytes), got ${shortestMs} ` +
      "ms; communicationLatency: 0 ms plans without it",
  );
}

/**
 * Returns the application with the SLO that decisions may spend; methods check this one for
 * mistakes.
 */
export function decidedApplication<A extends Application>(application: A, marginMs: number): A {
  const { serving: _, ...cluster } = application.cluster;
  return { ...application, cluster, slo: sloLess(application.slo, marginMs) };
}

/** Adds to a mistake of the decided application how its SLO was reduced. */
export function ofDecisions({ message, ...mistake }: Mistake, marginMs: number): Mistake {
  const why = `${rounded(marginMs)} ms of the SLO are reserved for the serving path`;
  return { ...mistake, message: `${message} (${why})` };
}

/** Returns the application planned with a margin. */
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

/** Number of cores: one per worker. */
function coresOf({ pools }: Cluster): number {
  return pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
}

/** Number of tasks with models on the longest path through the graph. */
function longestPath({ tasks }: Application): number {
  const depths = new Map<string, number>();
  // Specs may list a task before its parents, so the relaxation runs once per task.
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
