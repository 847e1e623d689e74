/**
 * Replicas below which no configuration of the other tasks can meet the SLO on a trace: proven,
 * unlike any simulation with fewer.
 */
import type { FeedForward } from "../../../graph/feed-forward.ts";
import { fastestMs, restOf } from "../../../graph/rest-time.ts";
import { aloneMs } from "../../../graph/served-tasks.ts";
import { fluidMisses } from "../../../numeric/fluid-misses.ts";
import type { ProvisioningProblem, TaskHardware } from "./problem.ts";

/** What rounding may add to a sum of times, relative. */
const SLACK = 1e-9;

export interface LowerBounds {
  /**
   * Least replicas by task, hardware and position among its batches; Infinity where it cannot be.
   */
  readonly replicas: readonly (readonly (readonly number[])[])[];
  /** Least cost of each task, millionths per hour. */
  readonly cost: readonly number[];
}

/**
 * A query that is in time spends its batch inside its window, the SLO less the fastest way before
 * and after the task. Its part of the batch is no less than that of the largest batch that fits.
 * So a fluid queue with the speed of the replicas has no more misses than they.
 */
export function lowerBoundsOf(
  problem: ProvisioningProblem,
  sloMs: number,
  traces: readonly FeedForward[],
): LowerBounds {
  const replicas = problem.stages.map(({ hardware }, stage) => {
    const windows = traces.map((trace) => windowOf(problem, sloMs, trace, stage));
    return hardware.map((one) => {
      const byTrace = windows.map((window) => leastReplicas(window, one));
      return one.batches.map((_, position) =>
        Math.max(...byTrace.map((least) => least[position] ?? 1)),
      );
    });
  });
  const cost = problem.stages.map(({ hardware }, stage) => {
    const costs = hardware.flatMap(({ price }, index) =>
      (replicas[stage]?.[index] ?? []).map((count) => count * price),
    );
    return Math.min(...costs);
  });
  return { replicas, cost };
}

/** What of a trace comes to a task, and how long each may take there. */
interface StageWindow {
  readonly releaseMs: Float64Array;
  readonly windowMs: number;
  /** Of its queries: all those of as many requests as may miss the SLO. */
  readonly allowedMisses: number;
}

function windowOf(
  problem: ProvisioningProblem,
  sloMs: number,
  trace: FeedForward,
  stage: number,
): StageWindow {
  const restMs = restOf(problem, trace.visits)[stage] ?? 0;
  const windowMs = (sloMs - headOf(problem, stage) - restMs) * (1 + SLACK);
  const allowedMisses = allowedQueries(trace, stage);
  return { releaseMs: releasesOf(trace, stage), windowMs, allowedMisses };
}

/** Most queries of a task that those requests can have which may miss the SLO. */
function allowedQueries({ visits, allowedMisses, requestCount }: FeedForward, stage: number) {
  const { scope = 0, isVisited = null } = visits.stages[stage] ?? {};
  const requestByRow = visits.scopes[scope]?.request ?? null;
  if (requestByRow === null) return allowedMisses;
  const queries = new Uint32Array(requestCount);
  for (const [row, request] of requestByRow.entries()) {
    if (isVisited?.[row] !== 0) queries[request] = (queries[request] ?? 0) + 1;
  }
  return queries
    .sort()
    .subarray(requestCount - allowedMisses)
    .reduce((sum, count) => sum + count, 0);
}

/** By position among the batches. */
function leastReplicas(window: StageWindow, hardware: TaskHardware): number[] {
  const { releaseMs, windowMs, allowedMisses } = window;
  const count = releaseMs.length;
  if (count <= allowedMisses) return hardware.batches.map(() => 1);
  if (aloneMs(hardware) > windowMs) return hardware.batches.map(() => Number.POSITIVE_INFINITY);
  let knownMs = Number.NaN;
  let known = count;
  return hardware.batches.map((batch) => {
    const workMs = leastWorkMs(hardware, batch, windowMs);
    if (workMs !== knownMs) known = leastForWork(window, workMs, known);
    knownMs = workMs;
    return known;
  });
}

/** @param most enough: what more work takes. */
function leastForWork(
  { releaseMs, windowMs, allowedMisses }: StageWindow,
  workMs: number,
  most: number,
): number {
  const count = releaseMs.length;
  const isEnough = (replicas: number): boolean =>
    fluidMisses(count, releaseMs, windowMs, workMs / replicas, allowedMisses) <= allowedMisses;
  const spanMs = (releaseMs[count - 1] ?? 0) - (releaseMs[0] ?? 0) + windowMs;
  // The replicas have no more time than from the first arrival to the last deadline; the search
  // begins where that suffices.
  let low = Math.max(
    0,
    Math.min(most, Math.floor(((count - allowedMisses) * workMs) / spanMs)) - 1,
  );
  let high = most;
  for (let step = 1; low + step < high; step *= 2) {
    if (isEnough(low + step)) high = low + step;
    else low += step;
  }
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Least time of a replica that a query takes in a batch that fits the window. */
function leastWorkMs({ batchMs }: TaskHardware, batch: number, windowMs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let size = 1; size <= batch; size++) {
    const ms = batchMs[size - 1] ?? Number.POSITIVE_INFINITY;
    if (ms > windowMs) break;
    least = Math.min(least, ms / size);
  }
  return least * (1 - SLACK);
}

/** Arrivals of the requests of the queries that come to a task. */
function releasesOf({ visits, arrivalMs }: FeedForward, stage: number): Float64Array {
  const { scope = 0, isVisited = null } = visits.stages[stage] ?? {};
  const request = visits.scopes[scope]?.request ?? null;
  const ms =
    request === null ? arrivalMs : Float64Array.from(request, (one) => arrivalMs[one] ?? 0);
  return isVisited === null ? ms : ms.filter((_, row) => isVisited[row] === 1);
}

/** Least time from an arrival to the start of a task. */
function headOf(problem: ProvisioningProblem, stage: number): number {
  const { graph, hopMs } = problem;
  const headMs = new Float64Array(stage + 1);
  for (let task = 0; task <= stage; task++) {
    let least = Number.POSITIVE_INFINITY;
    for (let edge = graph.inStart[task] ?? 0; edge < (graph.inStart[task + 1] ?? 0); edge++) {
      const parent = graph.parentByEdge[edge] ?? -1;
      const before = parent < 0 ? 0 : (headMs[parent] ?? 0) + fastestMs(problem, parent);
      least = Math.min(least, before + hopMs);
    }
    headMs[task] = least;
  }
  return headMs[stage] ?? 0;
}
