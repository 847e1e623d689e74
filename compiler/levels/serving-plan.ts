/** What plans reckon with for the way through the server: margins to try, and contention. */
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { sloLess } from "../model/planned-times.ts";
import { highestLoad } from "../model/solve-size.ts";
import { plannedStretch } from "../simulate/serving/planned-contention.ts";
import type { Application, Cluster, MeasuredServing } from "../spec/application.ts";
import { conflict, type Mistake } from "../spec/mistakes.ts";
import { pathQuantileMs, pathTimes } from "./path-time.ts";

/** Margins that are tried, in times what the path takes, the smallest first. */
const RUNGS = [1, 1.5, 2, 3, 4.5];
/** Of the shortest SLO, what a margin is at most: models need the rest. */
const MOST_PART = 0.8;
/** Margins are whole multiples of this, ms. */
const STEPS_PER_MS = 20;

/** Plans of an application that reckon with the way through the server. */
export interface ServingPlan {
  /** What the path takes at the SLO's percentile and the highest load, ms. */
  readonly pathMs: number;
  /** Margins to try, ascending; the first is the path's time. */
  readonly marginsMs: readonly number[];
  readonly stretch: number;
}

/** Null where there is no path, or the spec says what hops take. */
export function servingPlanOf(application: Application): ServingPlan | null {
  const { cluster, slo, loads } = application;
  const { serving } = cluster;
  if (serving === undefined || !serving.isPlannedWith) return null;
  const { qps } = highestLoad(loads);
  const batches = longestPath(application);
  const pathMs = pathQuantileMs(pathTimes(serving, qps, batches), 1 - violationCeiling(slo));
  const mostMs = MOST_PART * shortestSloMs(application);
  const rungs = RUNGS.map((times) => Math.ceil(times * pathMs * STEPS_PER_MS) / STEPS_PER_MS);
  return {
    pathMs,
    marginsMs: [...new Set(rungs)].filter((ms, at) => at === 0 || ms <= mostMs),
    stretch: plannedStretch(serving, coresOf(cluster), qps, batches),
  };
}

/** An SLO that the path alone takes. */
export function* pathMistakes(
  application: Application,
  { pathMs, marginsMs }: ServingPlan,
): Generator<Mistake> {
  const shortestMs = shortestSloMs(application);
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

function shortestSloMs({ slo }: Application): number {
  return Math.min(slo.latencyMs, ...(slo.classes ?? []).map(({ latencyMs }) => latencyMs));
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
