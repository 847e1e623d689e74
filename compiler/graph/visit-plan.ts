/**
 * Where each request of a trace goes, whatever serves it: coins are tossed once, so this is the
 * same for all configurations.
 */
import { REQUESTS, type TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { marked, upTo } from "../numeric/flow.ts";
import type { RequestTrace } from "../simulate/graph/visits.ts";

/** Most tasks of a pipeline: sets of them are bit masks. */
export const MAX_TASKS = 31;

export interface VisitPlan {
  readonly requestCount: number;
  readonly stages: readonly PlannedVisits[];
}

export interface PlannedVisits {
  readonly count: number;
  /** By request; null if all visit. */
  readonly isVisited: Uint8Array | null;
  readonly source: StageSource;
  /** Whether some request ends here: it takes none of the edges that lead away. */
  readonly isEnd: boolean;
  /**
   * The tasks that every query goes on to or, where each query goes on to some of them, all of
   * these; none for an end.
   */
  readonly next: { readonly tasks: readonly number[]; readonly takesAll: boolean };
}

/** What makes a query of the task ready. */
type StageSource =
  /** The request itself, in the order of arrival: these. */
  | { readonly kind: "requests"; readonly request: Uint32Array }
  /**
   * The only task before, when it is done with the query.
   * @param isFiltered whether some of them do not come here.
   */
  | { readonly kind: "task"; readonly parent: number; readonly isFiltered: boolean }
  | JoinSource;

/**
 * The last verdict on the edges that lead here: a task that was skipped passes on the verdict that
 * skipped it.
 */
interface JoinSource {
  readonly kind: "join";
  /** Where verdicts come from, ascending: tasks, or REQUESTS. */
  readonly origins: readonly number[];
  /**
   * Bit i of a request is set if the verdict of `origins[i]` is waited for; 0 if the request does
   * not come here.
   */
  readonly waitsFor: Uint32Array;
  /** By request: how many are. */
  readonly waitCount: Uint8Array;
}

export function visitPlanOf(graph: TaskGraph, trace: RequestTrace): VisitPlan {
  const requestCount = trace.arrivalMs.length;
  const visited: (Uint8Array | null)[] = [];
  for (let task = 0; task < graph.taskCount; task++) {
    visited.push(visitsOf(graph, trace, visited, task));
  }
  const stages = visited.map((isVisited, task): PlannedVisits => {
    return {
      count: isVisited === null ? requestCount : isVisited.reduce((sum, bit) => sum + bit, 0),
      isVisited,
      source: sourceOf(graph, visited, task, requestCount),
      ...continuation(graph, trace, visited, task),
    };
  });
  return { requestCount, stages };
}

/** @returns by request whether the task is visited; null if always. */
function visitsOf(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: readonly (Uint8Array | null)[],
  task: number,
): Uint8Array | null {
  const isVisited = new Uint8Array(trace.arrivalMs.length);
  for (let edge = graph.inStart[task] ?? 0; edge < (graph.inStart[task + 1] ?? 0); edge++) {
    const parent = graph.parentByEdge[edge] ?? REQUESTS;
    const before = parent === REQUESTS ? null : (visited[parent] ?? null);
    const taken = trace.takenByEdge[edge] ?? null;
    if (before === null && taken === null) return null;
    for (let request = 0; request < isVisited.length; request++) {
      if (before?.[request] !== 0 && taken?.[request] !== 0) isVisited[request] = 1;
    }
  }
  return isVisited.includes(0) ? isVisited : null;
}

function sourceOf(
  graph: TaskGraph,
  visited: readonly (Uint8Array | null)[],
  task: number,
  requestCount: number,
): StageSource {
  const first = graph.inStart[task] ?? 0;
  const isVisited = visited[task] ?? null;
  if ((graph.inStart[task + 1] ?? 0) - first > 1)
    return joinSource(graph, visited, task, requestCount);
  const parent = graph.parentByEdge[first] ?? REQUESTS;
  if (parent === REQUESTS) {
    const request = isVisited === null ? upTo(requestCount) : marked(isVisited, requestCount);
    return { kind: "requests", request };
  }
  const before = visited[parent] ?? null;
  const isSame =
    isVisited === null || (before !== null && isVisited.every((bit, one) => bit === before[one]));
  return { kind: "task", parent, isFiltered: !isSame };
}

function continuation(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: readonly (Uint8Array | null)[],
  task: number,
): Pick<PlannedVisits, "isEnd" | "next"> {
  const isVisited = visited[task] ?? null;
  const edges = graph.outEdge.subarray(graph.outStart[task + 1], graph.outStart[task + 2]);
  const tasks = Array.from(edges, (edge) => graph.childByEdge[edge] ?? 0);
  const always = tasks.filter((_, position) => {
    const taken = trace.takenByEdge[edges[position] ?? 0] ?? null;
    return taken === null || taken.every((bit, one) => bit === 1 || isVisited?.[one] === 0);
  });
  if (always.length > 0) return { isEnd: false, next: { tasks: always, takesAll: true } };
  const goesOn = (request: number): boolean =>
    edges.some((edge) => trace.takenByEdge[edge]?.[request] !== 0);
  for (let request = 0; request < trace.arrivalMs.length; request++) {
    if (isVisited?.[request] === 0 || goesOn(request)) continue;
    return { isEnd: true, next: { tasks: [], takesAll: true } };
  }
  return { isEnd: false, next: { tasks, takesAll: false } };
}

/** @param visited of all tasks before, at most 31 of them. */
function joinSource(
  graph: TaskGraph,
  visited: readonly (Uint8Array | null)[],
  task: number,
  requestCount: number,
): JoinSource {
  const isVisited = visited[task] ?? null;
  const settlersByPattern = new Map<number, readonly number[]>();
  const patternOf = (request: number): number => {
    let pattern = 0;
    for (let before = 0; before < task; before++) {
      if (visited[before]?.[request] !== 0) pattern += 2 ** before;
    }
    return pattern;
  };
  const patterns = new Float64Array(requestCount);
  for (let request = 0; request < requestCount; request++) {
    const pattern = isVisited?.[request] === 0 ? NOT_VISITED : patternOf(request);
    patterns[request] = pattern;
    if (pattern === NOT_VISITED || settlersByPattern.has(pattern)) continue;
    settlersByPattern.set(pattern, settlersOf(graph, task, pattern));
  }
  const origins = [...new Set([...settlersByPattern.values()].flat())].sort((a, b) => a - b);
  const waitsFor = new Uint32Array(requestCount);
  const waitCount = new Uint8Array(requestCount);
  for (const [pattern, settlers] of settlersByPattern) {
    const mask = settlers.reduce((sum, settler) => sum + 2 ** origins.indexOf(settler), 0);
    for (let request = 0; request < requestCount; request++) {
      if (patterns[request] !== pattern) continue;
      waitsFor[request] = mask;
      waitCount[request] = settlers.length;
    }
  }
  return { kind: "join", origins, waitsFor, waitCount };
}

const NOT_VISITED = -1;

/**
 * The visited tasks, or REQUESTS, whose ends settle the edges into a task last: one that another of
 * them comes after, at whatever distance, has always ended before that one.
 * @param pattern bit of each visited task.
 */
function settlersOf(graph: TaskGraph, task: number, pattern: number): readonly number[] {
  const isSettler = (parent: number): boolean =>
    parent === REQUESTS || Math.floor(pattern / 2 ** parent) % 2 === 1;
  const settlers = new Set<number>();
  const open = [task];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parentsOf(graph, next)) {
      if (isSettler(parent)) settlers.add(parent);
      else open.push(parent);
    }
  }
  const before = new Set<number>();
  for (const settler of settlers) addAncestors(graph, settler, before);
  return [...settlers].filter((settler) => !before.has(settler));
}

function addAncestors(graph: TaskGraph, task: number, ancestors: Set<number>): void {
  for (const parent of parentsOf(graph, task)) {
    if (ancestors.has(parent)) continue;
    ancestors.add(parent);
    addAncestors(graph, parent, ancestors);
  }
}

function parentsOf(graph: TaskGraph, task: number): Int32Array {
  return task === REQUESTS
    ? new Int32Array(0)
    : graph.parentByEdge.subarray(graph.inStart[task], graph.inStart[task + 1]);
}
