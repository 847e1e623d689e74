/**
 * Which edges of a pipeline each request takes, and how many rows fan-outs make of it: drawn once
 * per request, so that every plan is tried on the same requests.
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

/** Requests of a trace, and what each of them leads to whatever serves it. */
export interface RequestTrace extends RequestWays {
  /** Non-decreasing, ms. */
  readonly arrivalMs: Float64Array;
}

interface RequestWays {
  /**
   * By edge, by row of the scope of the task before, which is by request where no edge makes rows:
   * 1 where the edge is taken once that task was reached; null for an edge that is always taken,
   * and where `rowsByScope` says it.
   */
  readonly takenByEdge: readonly (Uint8Array | null)[];
  /** By scope, that of the requests first; left out where there is no other. */
  readonly rowsByScope?: readonly ScopeRows[];
}

/**
 * Rows of a scope, whether or not requests come to them: those of one row of the scope before
 * follow each other, in the order of these.
 */
interface ScopeRows {
  readonly count: number;
  /**
   * [rows of the scope before + 1]: the first row of each and, last, their number; of windows, as
   * many as there would be if all rows that are gathered took the edge. Empty for requests.
   */
  readonly first: Uint32Array;
}

/** Streams of one seed; a source's coins do not depend on what other tasks there are. */
const VISIT_STREAM = 1000;
const FANOUT_STREAM = 2000;

/** The coins of a number of requests where no edge makes rows. */
export function tossVisits(
  graph: TaskGraph,
  requestCount: number,
  seed: number,
): RequestTrace["takenByEdge"] {
  return tossWays(graph, requestCount, seed).takenByEdge;
}

/**
 * The coins of a number of requests, and the rows that fan-outs make of them. A task's edges have
 * each a coin, or, if they are exclusive, one for all.
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

/** The first so many requests of a trace. */
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

/** The rows of a scope that is not that of the requests. */
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
  if (rows === undefined) throw new RangeError("rows are made of rows");
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
