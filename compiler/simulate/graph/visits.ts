/**
 * Edges of a pipeline that each request takes, and rows that fan-outs make of it: drawn once per
 * request, so that every plan is tried on the same requests.
 */
import { chosenEdge, SHARE_TOLERANCE } from "stratagem-runtime/internal/core/graph/exclusive-edges";
import {
  REQUESTS,
  SPREAD,
  type TaskGraph,
  WINDOWS,
} from "stratagem-runtime/internal/core/graph/task-graph";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type FanoutMode, FanoutSource } from "./fanout-source.ts";

/** Requests of a trace, and the tasks and rows of each, independent of the plan. */
export interface RequestTrace extends RequestWays {
  /** Non-decreasing, ms. */
  readonly arrivalMs: Float64Array;
}

interface RequestWays {
  /**
   * Per edge and row of the scope of the task before, which is per request if no edge makes rows: 1
   * if the edge is taken once that task was reached; null for an edge that is always taken, and for
   * those that `rowsByScope` describes.
   */
  readonly takenByEdge: readonly (Uint8Array | null)[];
  /** Per scope, that of the requests first; left out if there is no other. */
  readonly rowsByScope?: readonly ScopeRows[];
}

/**
 * Rows of a scope, whether or not requests reach them; rows made from one row of the scope before
 * are adjacent, in the order of their origins.
 */
interface ScopeRows {
  readonly count: number;
  /**
   * [rows of the scope before + 1]: the first row of each and, last, their number; for windows, the
   * number if all gathered rows took the edge. Empty for requests.
   */
  readonly first: Uint32Array;
}

/** First random stream of visits; a task's draws do not depend on other tasks. */
const VISIT_STREAM = 1000;
const FANOUT_STREAM = 2000;

/** Draws the edges of a number of requests if no edge makes rows. */
export function tossVisits(
  graph: TaskGraph,
  requestCount: number,
  seed: number,
): RequestTrace["takenByEdge"] {
  return tossWays(graph, requestCount, seed).takenByEdge;
}

/**
 * Draws the edges of a number of requests, and the rows that fan-outs make of them. Each edge of a
 * task has its own draw, or, if they are exclusive, one for all.
 */
export function tossWays(
  graph: TaskGraph,
  requestCount: number,
  seed: number,
  fanout: FanoutMode = "rounded",
): RequestWays {
  const takenByEdge = new Array<Uint8Array | null>(graph.edgeCount).fill(null);
  const rowsByScope: ScopeRows[] = [{ count: requestCount, first: new Uint32Array(0) }];
  for (let source = REQUESTS; source < graph.taskCount; source++) {
    const edges = graph.outEdge.subarray(graph.outStart[source + 1], graph.outStart[source + 2]);
    const rowCount = rowsByScope[graph.scopeByTask[source] ?? 0]?.count ?? 0;
    const isExclusive = graph.isExclusive[source + 1] === 1;
    if (isExclusive) tossOne(graph, edges, rowCount, seed, takenByEdge);
    else tossEach(graph, edges, rowCount, seed, takenByEdge);
    for (const edge of edges) {
      const rows = rowsMadeBy(graph, edge, rowsByScope, takenByEdge, { seed, fanout });
      if (rows !== null) rowsByScope[graph.scopeByTask[graph.childByEdge[edge] ?? 0] ?? 0] = rows;
      if (graph.kindByEdge[edge] === SPREAD) takenByEdge[edge] = null;
    }
  }
  return rowsByScope.length === 1 ? { takenByEdge } : { takenByEdge, rowsByScope };
}

export function firstRequests(trace: RequestTrace, graph: TaskGraph, count: number): RequestTrace {
  const arrivalMs = trace.arrivalMs.subarray(0, count);
  const counts: number[] = [];
  const rowsByScope = trace.rowsByScope?.map(({ first }, scope): ScopeRows => {
    const before = graph.scopes[scope]?.parent ?? -1;
    const kept = before < 0 ? first : first.subarray(0, (counts[before] ?? 0) + 1);
    counts.push(before < 0 ? arrivalMs.length : (kept.at(-1) ?? 0));
    return { count: counts[scope] ?? 0, first: kept };
  });
  const takenByEdge = trace.takenByEdge.map((taken, edge) => {
    const scope = graph.scopeByTask[graph.parentByEdge[edge] ?? REQUESTS] ?? 0;
    return taken?.subarray(0, counts[scope] ?? arrivalMs.length) ?? null;
  });
  return rowsByScope === undefined
    ? { arrivalMs, takenByEdge }
    : { arrivalMs, takenByEdge, rowsByScope };
}

/** Returns the rows of a scope other than that of the requests. */
export function rowsOf({ rowsByScope }: RequestTrace, scope: number): ScopeRows {
  const rows = rowsByScope?.[scope];
  if (rows === undefined) throw new RangeError("a trace has the rows of every scope");
  return rows;
}

function rowsMadeBy(
  graph: TaskGraph,
  edge: number,
  rowsByScope: readonly ScopeRows[],
  takenByEdge: readonly (Uint8Array | null)[],
  { seed, fanout }: { readonly seed: number; readonly fanout: FanoutMode },
): ScopeRows | null {
  const kind = graph.kindByEdge[edge];
  const before = graph.scopeByTask[graph.parentByEdge[edge] ?? REQUESTS] ?? 0;
  const rows = rowsByScope[before];
  if (rows === undefined) throw new RangeError("a scope has no scope before it");
  if (kind === WINDOWS) {
    const window = graph.windowByEdge[edge] ?? 1;
    return rowsMade(rows.first.length - 1, (row) => {
      return Math.floor(((rows.first[row + 1] ?? 0) - (rows.first[row] ?? 0)) / window);
    });
  }
  if (kind !== SPREAD) return null;
  const source = new FanoutSource(fanout, new Rng(seed, FANOUT_STREAM + edge));
  const mean = graph.fanoutByEdge[edge] ?? 1;
  const taken = takenByEdge[edge] ?? null;
  return rowsMade(rows.count, (row) => (taken?.[row] === 0 ? 0 : source.next(mean)));
}

function rowsMade(before: number, madeOf: (row: number) => number): ScopeRows {
  const first = new Uint32Array(before + 1);
  let count = 0;
  for (let row = 0; row < before; row++) {
    count += madeOf(row);
    first[row + 1] = count;
  }
  return { count, first };
}

function tossEach(
  { shareByEdge }: TaskGraph,
  edges: Uint32Array,
  rowCount: number,
  seed: number,
  takenByEdge: (Uint8Array | null)[],
): void {
  for (const edge of edges) {
    const share = shareByEdge[edge] ?? 1;
    if (share >= 1) continue;
    const rng = new Rng(seed, VISIT_STREAM + edge);
    const taken = new Uint8Array(rowCount);
    for (let row = 0; row < rowCount; row++) {
      taken[row] = rng.nextFloat() < share ? 1 : 0;
    }
    takenByEdge[edge] = taken;
  }
}

function tossOne(
  { shareByEdge }: TaskGraph,
  edges: Uint32Array,
  rowCount: number,
  seed: number,
  takenByEdge: (Uint8Array | null)[],
): void {
  const [first] = edges;
  if (first === undefined) return;
  const rng = new Rng(seed, VISIT_STREAM + first);
  const taken = Array.from(edges, () => new Uint8Array(rowCount));
  const total = edges.reduce((sum, edge) => sum + (shareByEdge[edge] ?? 0), 0);
  const isOneTaken = total > 1 - SHARE_TOLERANCE;
  for (let row = 0; row < rowCount; row++) {
    const chosen = taken[chosenEdge(edges, shareByEdge, rng.nextFloat(), isOneTaken)];
    if (chosen !== undefined) chosen[row] = 1;
  }
  for (const [position, edge] of edges.entries()) takenByEdge[edge] = taken[position] ?? null;
}
