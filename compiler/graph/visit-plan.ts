/**
 * Plans which tasks each request of a trace visits. Random choices are made once, so the plan is
 * the same for all configurations.
 */
import {
  GATHER,
  PLAIN,
  REQUESTS,
  SPREAD,
  type TaskGraph,
  WINDOWS,
} from "stratagem-runtime/internal/core/graph/task-graph";
import { marked, upTo } from "../numeric/flow.ts";
import { type RequestTrace, rowsOf } from "../simulate/graph/visits.ts";
import { type GatherSource, gatherSource, type Visited, waitsForGathers } from "./gather-plan.ts";

/** Maximum tasks of a pipeline: sets of tasks are bit masks. */
export const MAX_TASKS = 31;

export interface VisitPlan {
  readonly requestCount: number;
  readonly stages: readonly PlannedVisits[];
  /** Indexed by scope; scope 0 is that of requests. */
  readonly scopes: readonly PlannedRows[];
}

interface PlannedRows {
  readonly count: number;
  /** Request of each row; null for the scope of requests. */
  readonly request: Uint32Array | null;
  /** Largest number of rows of one request. */
  readonly mostOfOne: number;
}

export interface PlannedVisits {
  readonly count: number;
  /** Index of its rows' scope. */
  readonly scope: number;
  /** Per row; null if every row visits. */
  readonly isVisited: Uint8Array | null;
  readonly source: StageSource;
  /** Whether some row ends here, taking none of the outgoing edges. */
  readonly isEnd: boolean;
  /**
   * Tasks that come next: `takesAll` if every query goes to all of them, else each query goes to
   * some. Empty for an end.
   */
  readonly next: { readonly tasks: readonly number[]; readonly takesAll: boolean };
}

/** Event that makes a query of the task ready. */
type StageSource =
  /** The request itself, in arrival order. */
  | { readonly kind: "requests"; readonly request: Uint32Array }
  /**
   * The end of the only task before.
   * @param isFiltered whether some of its queries do not come here.
   */
  | { readonly kind: "task"; readonly parent: number; readonly isFiltered: boolean }
  /**
   * The end of the only task before, which makes several rows of each: those of a row start at
   * `first[row]`.
   */
  | { readonly kind: "spread"; readonly parent: number; readonly first: Uint32Array }
  | JoinSource
  | GatherSource;

/** The last verdict on the incoming edges; a skipped task passes on the verdict that skipped it. */
interface JoinSource {
  readonly kind: "join";
  /** Sources of verdicts, ascending: tasks, or REQUESTS. */
  readonly origins: readonly number[];
  /**
   * Bit i of a row is set if it waits for the verdict of `origins[i]`; 0 if the row does not come
   * here.
   */
  readonly waitsFor: Uint32Array;
  /** Per row: number of verdicts. */
  readonly waitCount: Uint8Array;
}

export function visitPlanOf(graph: TaskGraph, trace: RequestTrace): VisitPlan {
  const requestCount = trace.arrivalMs.length;
  const scopes = plannedRows(graph, trace);
  const visited: Visited = [];
  for (let task = 0; task < graph.taskCount; task++) {
    visited.push(visitsOf(graph, trace, visited, task));
  }
  const stages = visited.map((isVisited, task): PlannedVisits => {
    const scope = graph.scopeByTask[task] ?? 0;
    const rowCount = scopes[scope]?.count ?? requestCount;
    return {
      count: isVisited === null ? rowCount : isVisited.reduce((sum, bit) => sum + bit, 0),
      scope,
      isVisited,
      source: sourceOf(graph, trace, visited, task, rowCount),
      ...continuation(graph, trace, visited, task, rowCount),
    };
  });
  return { requestCount, stages, scopes };
}

function plannedRows(graph: TaskGraph, trace: RequestTrace): PlannedRows[] {
  const planned: PlannedRows[] = [{ count: trace.arrivalMs.length, request: null, mostOfOne: 1 }];
  for (const [scope, { parent }] of graph.scopes.entries()) {
    if (parent < 0) continue;
    const { count, first } = rowsOf(trace, scope);
    const before = planned[parent]?.request ?? null;
    const request = new Uint32Array(count);
    const ofOne = new Uint32Array(trace.arrivalMs.length);
    let mostOfOne = 1;
    for (let row = 0; row + 1 < first.length; row++) {
      const one = before === null ? row : (before[row] ?? 0);
      const end = first[row + 1] ?? 0;
      const begin = first[row] ?? 0;
      request.fill(one, begin, end);
      const most = (ofOne[one] ?? 0) + end - begin;
      ofOne[one] = most;
      if (most > mostOfOne) mostOfOne = most;
    }
    planned.push({ count, request, mostOfOne });
  }
  return planned;
}

/** @returns per row whether the task is visited; null if always. */
function visitsOf(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: Visited,
  task: number,
): Uint8Array | null {
  const scope = graph.scopeByTask[task] ?? 0;
  const rowCount = scope === 0 ? trace.arrivalMs.length : rowsOf(trace, scope).count;
  const isVisited = new Uint8Array(rowCount);
  for (let edge = graph.inStart[task] ?? 0; edge < (graph.inStart[task + 1] ?? 0); edge++) {
    const parent = graph.parentByEdge[edge] ?? REQUESTS;
    const before = parent === REQUESTS ? null : (visited[parent] ?? null);
    const taken = trace.takenByEdge[edge] ?? null;
    const kind = graph.kindByEdge[edge];
    if (kind === PLAIN) {
      if (before === null && taken === null) return null;
      for (let row = 0; row < rowCount; row++) {
        if (before?.[row] !== 0 && taken?.[row] !== 0) isVisited[row] = 1;
      }
    } else if (kind === SPREAD) {
      if (before === null) return null;
      const { first } = rowsOf(trace, scope);
      for (const [row, bit] of before.entries()) {
        if (bit === 1) isVisited.fill(1, first[row], first[row + 1]);
      }
    } else {
      const { first } = rowsOf(trace, graph.scopeByTask[parent] ?? 0);
      const windows = kind === WINDOWS ? rowsOf(trace, scope).first : null;
      for (let row = 0; row + 1 < first.length; row++) {
        let count = 0;
        for (let made = first[row] ?? 0; made < (first[row + 1] ?? 0); made++) {
          if (before?.[made] !== 0 && taken?.[made] !== 0) count++;
        }
        if (windows === null) isVisited[row] = count > 0 ? 1 : (isVisited[row] ?? 0);
        else {
          const begin = windows[row] ?? 0;
          isVisited.fill(1, begin, begin + Math.floor(count / (graph.windowByEdge[edge] ?? 1)));
        }
      }
    }
  }
  return isVisited.includes(0) ? isVisited : null;
}

function sourceOf(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: Visited,
  task: number,
  rowCount: number,
): StageSource {
  const first = graph.inStart[task] ?? 0;
  const isVisited = visited[task] ?? null;
  if (waitsForGathers(graph, task)) return gatherSource(graph, trace, visited, task);
  if ((graph.inStart[task + 1] ?? 0) - first > 1) return joinSource(graph, visited, task, rowCount);
  const parent = graph.parentByEdge[first] ?? REQUESTS;
  if (parent === REQUESTS) {
    const request = isVisited === null ? upTo(rowCount) : marked(isVisited, rowCount);
    return { kind: "requests", request };
  }
  if (graph.kindByEdge[first] === SPREAD) {
    return { kind: "spread", parent, first: rowsOf(trace, graph.scopeByTask[task] ?? 0).first };
  }
  const before = visited[parent] ?? null;
  const isSame =
    isVisited === null || (before !== null && isVisited.every((bit, one) => bit === before[one]));
  return { kind: "task", parent, isFiltered: !isSame };
}

function continuation(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: Visited,
  task: number,
  rowCount: number,
): Pick<PlannedVisits, "isEnd" | "next"> {
  const isVisited = visited[task] ?? null;
  const edges = [...graph.outEdge.subarray(graph.outStart[task + 1], graph.outStart[task + 2])];
  const goings = edges.map((edge) => goingAlong(graph, trace, edge));
  const tasks = edges.map((edge) => graph.childByEdge[edge] ?? 0);
  const always = tasks.filter((_, position) => {
    const going = goings[position] ?? null;
    return going === null || going.every((bit, one) => bit === 1 || isVisited?.[one] === 0);
  });
  if (always.length > 0) return { isEnd: false, next: { tasks: always, takesAll: true } };
  for (let row = 0; row < rowCount; row++) {
    if (isVisited?.[row] === 0 || goings.some((going) => going?.[row] !== 0)) continue;
    return { isEnd: true, next: { tasks: [], takesAll: true } };
  }
  return { isEnd: false, next: { tasks, takesAll: false } };
}

/** Per row of the task before: whether the edge carries at least one row on; null if always. */
function goingAlong(graph: TaskGraph, trace: RequestTrace, edge: number): Uint8Array | null {
  const taken = trace.takenByEdge[edge] ?? null;
  const kind = graph.kindByEdge[edge];
  if (kind === PLAIN || kind === GATHER) return taken;
  const { first } = rowsOf(trace, graph.scopeByTask[graph.childByEdge[edge] ?? 0] ?? 0);
  const isMaking = (row: number): number => ((first[row + 1] ?? 0) > (first[row] ?? 0) ? 1 : 0);
  if (kind === SPREAD)
    return Uint8Array.from({ length: first.length - 1 }, (_, row) => isMaking(row));
  // There may be too few gathered rows for a window, or rows left over.
  const gathered = rowsOf(trace, graph.scopeByTask[graph.parentByEdge[edge] ?? 0] ?? 0);
  return new Uint8Array(gathered.count);
}

/** @param visited of all tasks before, at most 31. */
function joinSource(
  graph: TaskGraph,
  visited: Visited,
  task: number,
  rowCount: number,
): JoinSource {
  const isVisited = visited[task] ?? null;
  // The first task of a scope is always visited; its other tasks come after it.
  const alike = [...upTo(task)].filter(
    (before) => graph.scopeByTask[before] === graph.scopeByTask[task],
  );
  const settlersByPattern = new Map<number, readonly number[]>();
  const patternOf = (row: number): number => {
    let pattern = 0;
    for (const before of alike) {
      if (visited[before]?.[row] !== 0) pattern += 2 ** before;
    }
    return pattern;
  };
  const patterns = new Float64Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    const pattern = isVisited?.[row] === 0 ? NOT_VISITED : patternOf(row);
    patterns[row] = pattern;
    if (pattern === NOT_VISITED || settlersByPattern.has(pattern)) continue;
    settlersByPattern.set(pattern, settlersOf(graph, task, pattern));
  }
  const origins = [...new Set([...settlersByPattern.values()].flat())].sort((a, b) => a - b);
  const waitsFor = new Uint32Array(rowCount);
  const waitCount = new Uint8Array(rowCount);
  for (const [pattern, settlers] of settlersByPattern) {
    const mask = settlers.reduce((sum, settler) => sum + 2 ** origins.indexOf(settler), 0);
    for (let row = 0; row < rowCount; row++) {
      if (patterns[row] !== pattern) continue;
      waitsFor[row] = mask;
      waitCount[row] = settlers.length;
    }
  }
  return { kind: "join", origins, waitsFor, waitCount };
}

const NOT_VISITED = -1;

/**
 * Returns the visited tasks, or REQUESTS, whose ends settle the edges into a task last: a task is
 * left out if another of them comes after it at any distance, since it has always ended before.
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
