/**
 * Computes the ends that a task waits for when its rows are gathered, or when it joins gathered
 * rows.
 */
import {
  GATHER,
  PLAIN,
  REQUESTS,
  SPREAD,
  type TaskGraph,
  WINDOWS,
} from "stratagem-runtime/internal/core/graph/task-graph";
import { type RequestTrace, rowsOf } from "../simulate/graph/visits.ts";

/** Per task and row of its scope: whether the task is visited; null if always. */
export type Visited = (Uint8Array | null)[];

/**
 * Ends that settle the edges into a task, in any scope. A waiting row is of the task's scope or,
 * for windows, of the scope that windows are made in.
 */
export interface GatherSource {
  readonly kind: "gather";
  /** Sources of ends, ascending: tasks, or REQUESTS. */
  readonly origins: readonly number[];
  /** Per origin and row of its scope: the row that waits for it; −1 if no row does. */
  readonly waiterByOrigin: readonly Int32Array[];
  /** Per waiting row: the number of ends it waits for. */
  readonly waitCount: Uint32Array;
  /** Per waiting row, its windows: index of the first and their number; null without windows. */
  readonly windows: { readonly first: Uint32Array; readonly count: Uint32Array } | null;
}

/** Returns whether a task may wait for rows of another scope than its own. */
export function waitsForGathers({ scopes, inStart, kindByEdge }: TaskGraph, task: number): boolean {
  if (!scopes.some(({ gathers }) => gathers.length > 0)) return false;
  const first = inStart[task] ?? 0;
  const kind = kindByEdge[first];
  return (inStart[task + 1] ?? 0) - first > 1 || kind === GATHER || kind === WINDOWS;
}

/** @param visited of the task and all tasks before it. */
export function gatherSource(
  graph: TaskGraph,
  trace: RequestTrace,
  visited: Visited,
  task: number,
): GatherSource {
  const edge = graph.inStart[task] ?? 0;
  const scope = graph.scopes[graph.scopeByTask[task] ?? 0];
  const isWindows = graph.kindByEdge[edge] === WINDOWS;
  const waiting = isWindows ? (scope?.parent ?? 0) : (graph.scopeByTask[task] ?? 0);
  const rowCount = waiting === 0 ? trace.arrivalMs.length : rowsOf(trace, waiting).count;
  const waits = new Waits(graph, trace, visited, rowCount);
  const isVisited = visited[task] ?? null;
  if (!isWindows) {
    for (let row = 0; row < rowCount; row++) {
      if (isVisited?.[row] !== 0) waits.waitForTask(task, row, row);
    }
    return { kind: "gather", ...waits.found(), windows: null };
  }
  const { first } = rowsOf(trace, graph.scopeByTask[task] ?? 0);
  const count = new Uint32Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    let made = 0;
    for (let at = first[row] ?? 0; at < (first[row + 1] ?? 0); at++) {
      if (isVisited?.[at] !== 0) made++;
    }
    count[row] = made;
    if (made > 0) waits.waitForGather(edge, row, row);
  }
  return { kind: "gather", ...waits.found(), windows: { first, count } };
}

/** Finds the visited tasks whose ends settle edges, looking through skipped tasks. */
class Waits {
  readonly #graph: TaskGraph;
  readonly #trace: RequestTrace;
  readonly #visited: Visited;
  readonly #waitCount: Uint32Array;
  readonly #waiterByOrigin = new Map<number, Int32Array>();

  constructor(graph: TaskGraph, trace: RequestTrace, visited: Visited, rowCount: number) {
    this.#graph = graph;
    this.#trace = trace;
    this.#visited = visited;
    this.#waitCount = new Uint32Array(rowCount);
  }

  found(): Pick<GatherSource, "origins" | "waiterByOrigin" | "waitCount"> {
    const sorted = [...this.#waiterByOrigin].sort(([a], [b]) => a - b);
    return {
      origins: sorted.map(([origin]) => origin),
      waiterByOrigin: sorted.map(([, waiter]) => waiter),
      waitCount: this.#waitCount,
    };
  }

  /** Makes a row wait for all that settles the edges into a task at a row. */
  waitForTask(task: number, row: number, waiter: number): void {
    const { inStart, parentByEdge, kindByEdge } = this.#graph;
    for (let edge = inStart[task] ?? 0; edge < (inStart[task + 1] ?? 0); edge++) {
      if (kindByEdge[edge] === PLAIN) this.#waitFor(parentByEdge[edge] ?? REQUESTS, row, waiter);
      else this.waitForGather(edge, row, waiter);
    }
  }

  /** Makes a row wait for all that settles one edge, which gathers the rows made from a row. */
  waitForGather(edge: number, row: number, waiter: number): void {
    const parent = this.#graph.parentByEdge[edge] ?? REQUESTS;
    this.#waitForRows(this.#graph.scopeByTask[parent] ?? 0, parent, row, waiter);
  }

  /**
   * Waits for a task at all rows of a scope that one row made or, if it made none, for what settles
   * that.
   */
  #waitForRows(scope: number, task: number, madeOf: number, waiter: number): void {
    const { entry = 0, edge = 0, maker = REQUESTS } = this.#graph.scopes[scope] ?? {};
    const { first } = rowsOf(this.#trace, scope);
    const exists = this.#visited[entry] ?? null;
    let isEmpty = true;
    for (let row = first[madeOf] ?? 0; row < (first[madeOf + 1] ?? 0); row++) {
      if (exists?.[row] === 0) continue;
      isEmpty = false;
      this.#waitFor(task, row, waiter);
    }
    if (!isEmpty) return;
    if (this.#graph.kindByEdge[edge] === SPREAD) this.#waitFor(maker, madeOf, waiter);
    else this.waitForGather(edge, madeOf, waiter);
  }

  /** Waits for a task at a row or, if the task was skipped, for what skipped it. */
  #waitFor(task: number, row: number, waiter: number): void {
    if (task !== REQUESTS && this.#visited[task]?.[row] === 0) {
      this.waitForTask(task, row, waiter);
      return;
    }
    const waiters = this.#waitersOf(task);
    if (waiters[row] !== -1) return;
    waiters[row] = waiter;
    this.#waitCount[waiter] = (this.#waitCount[waiter] ?? 0) + 1;
  }

  #waitersOf(task: number): Int32Array {
    let waiters = this.#waiterByOrigin.get(task);
    if (waiters === undefined) {
      const scope = task === REQUESTS ? 0 : (this.#graph.scopeByTask[task] ?? 0);
      const { length } = this.#trace.arrivalMs;
      const count = scope === 0 ? length : rowsOf(this.#trace, scope).count;
      waiters = new Int32Array(count).fill(-1);
      this.#waiterByOrigin.set(task, waiters);
    }
    return waiters;
  }
}
