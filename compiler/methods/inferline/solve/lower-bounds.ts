/**
 * Lower bounds on replicas: with fewer, no configuration of the other tasks can meet the SLO on a
 * trace. Proven, unlike a simulation with fewer.
 */
import type { FeedForward } from "../../../graph/feed-forward.ts";
import { fastestMs, restOf } from "../../../graph/rest-time.ts";
import { aloneMs } from "../../../graph/served-tasks.ts";
import { fluidMisses } from "../../../numeric/fluid-misses.ts";
import { type ProvisioningProblem, type TaskHardware, throughputQps } from "./problem.ts";

/** Relative rounding error of a sum of times. */
const SLACK = 1e-9;

/** Bound of one task, given the time that the tasks before it take. */
interface TaskBound {
  /** Least replicas by hardware and batch index; Infinity if infeasible. */
  readonly replicas: readonly (readonly number[])[];
  /** Least cost, millionths per hour. */
  readonly cost: number;
}

export interface LowerBounds {
  /** Least replicas by task, hardware and batch index; Infinity if infeasible. */
  readonly replicas: readonly (readonly (readonly number[])[])[];
  /** Least cost of each task, millionths per hour. */
  readonly cost: readonly number[];
  /**
   * Returns the bound of a task, given hardware for tasks before it: their least time is known, and
   * less time is left for the task.
   * @param before by task; those that are left out are on the fastest.
   */
  given(stage: number, before: readonly TaskHardware[]): TaskBound;
}

/**
 * Parts of the SLO that the time before a task is rounded down to, which limits the number of
 * bounds.
 */
const HEAD_PARTS = 64;

/**
 * Assumes that replicas must carry the queries of their task indefinitely. A query that is in time
 * spends its batch inside its window, the SLO less the fastest path before and after the task. Its
 * part of the batch is no less than that of the largest batch that fits. So a fluid queue with the
 * speed of the replicas has no more misses than they.
 */
export function lowerBoundsOf(
  problem: ProvisioningProblem,
  sloMs: number,
  traces: readonly FeedForward[],
  qpsByTask: readonly number[] = [],
): LowerBounds {
  const leastHeadMs = headsOf(problem, []);
  const stages = problem.stages.map((_, stage) => {
    const windows = traces.map((trace) => windowOf(problem, trace, stage));
    const known = new Map<number, TaskBound>();
    return (headMs: number): TaskBound => {
      const found =
        known.get(headMs) ??
        boundOf(problem, stage, { windows, qps: qpsByTask[stage] ?? 0 }, sloMs - headMs);
      known.set(headMs, found);
      return found;
    };
  });
  const boundAt = (stage: number, headMs: number): TaskBound => {
    const fromMs = leastHeadMs[stage] ?? 0;
    const partMs = sloMs / HEAD_PARTS;
    const rounded = fromMs + Math.floor((headMs - fromMs) / partMs) * partMs;
    return (stages[stage] as (headMs: number) => TaskBound)(Math.max(fromMs, rounded));
  };
  const alone = problem.stages.map((_, stage) => boundAt(stage, leastHeadMs[stage] ?? 0));
  return {
    replicas: alone.map(({ replicas }) => replicas),
    cost: alone.map(({ cost }) => cost),
    given: (stage, before) => boundAt(stage, headsOf(problem, before)[stage] ?? 0),
  };
}

/**
 * @param qps that replicas carry.
 * @param leftMs of the SLO after the path before the task.
 */
function boundOf(
  problem: ProvisioningProblem,
  stage: number,
  { windows, qps }: { readonly windows: readonly TaskQueries[]; readonly qps: number },
  leftMs: number,
): TaskBound {
  const hardware = problem.stages[stage]?.hardware ?? [];
  const replicas = hardware.map((one) => {
    const byTrace = windows.map(({ restMs, ...queries }) => {
      const windowMs = (leftMs - restMs) * (1 + SLACK);
      return leastReplicas({ ...queries, windowMs }, one);
    });
    return one.batches.map((batch, position) => {
      const carrying = Math.floor((qps / throughputQps(one, batch)) * (1 + SLACK)) + 1;
      return Math.max(carrying, ...byTrace.map((least) => least[position] ?? 1));
    });
  });
  const costs = hardware.flatMap(({ price }, index) =>
    (replicas[index] ?? []).map((count) => count * price),
  );
  return { replicas, cost: Math.min(...costs) };
}

/** Queries of a trace that reach a task. */
interface Queries {
  readonly releaseMs: Float64Array;
  /** Allowed misses among its queries: those of the requests that are allowed to miss the SLO. */
  readonly allowedMisses: number;
}

interface TaskQueries extends Queries {
  /** Least time after the task. */
  readonly restMs: number;
}

/** Queries that reach a task, and the time that each may take there. */
interface StageWindow extends Queries {
  readonly windowMs: number;
}

function windowOf(problem: ProvisioningProblem, trace: FeedForward, stage: number): TaskQueries {
  const restMs = restOf(problem, trace.visits)[stage] ?? 0;
  const allowedMisses = allowedQueries(trace, stage);
  return { releaseMs: releasesOf(trace, stage), restMs, allowedMisses };
}

/** Most queries of a task that the requests which may miss the SLO can have. */
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

/** Indexed like the batches. */
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

/** @param most sufficient number: the capacity bound with this work. */
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
  // begins with the number that this requires.
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

/** Arrival times of the requests whose queries reach a task. */
function releasesOf({ visits, arrivalMs }: FeedForward, stage: number): Float64Array {
  const { scope = 0, isVisited = null } = visits.stages[stage] ?? {};
  const request = visits.scopes[scope]?.request ?? null;
  const ms =
    request === null ? arrivalMs : Float64Array.from(request, (one) => arrivalMs[one] ?? 0);
  return isVisited === null ? ms : ms.filter((_, row) => isVisited[row] === 1);
}

/**
 * Least time from an arrival to the start of each task.
 * @param before hardware of the first tasks; the others are on their fastest.
 */
function headsOf(problem: ProvisioningProblem, before: readonly TaskHardware[]): Float64Array {
  const { graph, hopMs, stages } = problem;
  const headMs = new Float64Array(stages.length);
  for (let task = 0; task < stages.length; task++) {
    let least = Number.POSITIVE_INFINITY;
    for (let edge = graph.inStart[task] ?? 0; edge < (graph.inStart[task + 1] ?? 0); edge++) {
      const parent = graph.parentByEdge[edge] ?? -1;
      const readyMs = parent < 0 ? 0 : (headMs[parent] ?? 0) + leastMs(problem, parent, before);
      least = Math.min(least, readyMs + hopMs);
    }
    headMs[task] = least;
  }
  return headMs;
}

function leastMs(
  problem: ProvisioningProblem,
  task: number,
  before: readonly TaskHardware[],
): number {
  const own = before[task];
  return own === undefined ? fastestMs(problem, task) : aloneMs(own);
}
