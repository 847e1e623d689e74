/** Scopes of rows that tasks share: a fan-out begins a scope, and a gather ends it. */
import type { StageEdge } from "./graph.ts";

/** The scope of the rows of requests. */
const REQUEST_ROWS = 0;

/**
 * Rows that one edge makes: by a fan-out of a row of the scope before, or as windows of the rows
 * that were made of one such row.
 */
export interface RowScope {
  /** Scope of the rows that these are made of; −1 for those of requests. */
  readonly parent: number;
  /** The task that all rows of the scope come to first, and the one before; −1 for requests. */
  readonly entry: number;
  readonly maker: number;
  /** Mean rows of one row of the maker; null for windows, and for those of requests. */
  readonly fanout: number | null;
  /** For windows, the gathered scope, and how many of its rows make one of these. */
  readonly gathered: { readonly scope: number; readonly window: number } | null;
}

export interface RowScopes {
  /** Each after its parent. */
  readonly scopes: readonly RowScope[];
  /** Index of the scope of each task. */
  readonly byTask: readonly number[];
}

/** An edge that is invalid in its place. */
export interface ScopeProblem {
  readonly task: number;
  /** Index among its edges. */
  readonly edge: number;
  /**
   * From requests: a fan-out or gather on an edge without a task before. Both: fan-out and gather.
   * Nothing to gather: no fan-out before. Not alone: it makes rows, but the task has another edge.
   * Mixed: the rows are of another scope than those of the edge before.
   */
  readonly kind: "from requests" | "both" | "nothing to gather" | "not alone" | "mixed";
}

interface ScopedEdge extends Pick<StageEdge, "parent"> {
  readonly fanout?: StageEdge["fanout"] | undefined;
  readonly gather?: StageEdge["gather"] | undefined;
}

/** Returns the scopes of tasks, parents before their children; or the first invalid edge. */
export function rowScopesOf(
  tasks: readonly { readonly edges: readonly ScopedEdge[] }[],
): RowScopes | ScopeProblem {
  const scopes: RowScope[] = [{ parent: -1, entry: -1, maker: -1, fanout: null, gathered: null }];
  const byTask: number[] = [];
  for (const [task, { edges }] of tasks.entries()) {
    let found = -1;
    for (const [edge, { parent, fanout, gather }] of edges.entries()) {
      const before = parent === null ? REQUEST_ROWS : (byTask[parent] ?? REQUEST_ROWS);
      const isMaking = fanout !== undefined || typeof gather === "number";
      const problem = problemOf({ parent, fanout, gather }, before, isMaking && edges.length > 1);
      if (problem !== null) return { task, edge, kind: problem };
      let scope = before;
      if (gather !== undefined) scope = scopes[before]?.parent ?? REQUEST_ROWS;
      if (isMaking) {
        const gathered = typeof gather === "number" ? { scope: before, window: gather } : null;
        const maker = parent ?? -1;
        scopes.push({ parent: scope, entry: task, maker, fanout: fanout ?? null, gathered });
        scope = scopes.length - 1;
      }
      if (found >= 0 && scope !== found) return { task, edge, kind: "mixed" };
      found = scope;
    }
    byTask.push(found);
  }
  return { scopes, byTask };
}

/** Returns the mean rows of each scope per request, if every edge is taken. */
export function meanRowsOf(scopes: readonly RowScope[]): number[] {
  const rows: number[] = [];
  for (const { parent, fanout, gathered } of scopes) {
    const before = parent < 0 ? 1 : (rows[parent] ?? 1);
    rows.push(
      gathered === null ? before * (fanout ?? 1) : (rows[gathered.scope] ?? 1) / gathered.window,
    );
  }
  return rows;
}

/** Returns the mean queries of a request at all tasks together, if every edge is taken. */
export function meanQueriesOf({ scopes, byTask }: RowScopes): number {
  const rows = meanRowsOf(scopes);
  return byTask.reduce((sum, scope) => sum + (rows[scope] ?? 1), 0);
}

export function isScopeProblem(found: RowScopes | ScopeProblem): found is ScopeProblem {
  return "kind" in found;
}

function problemOf(
  { parent, fanout, gather }: ScopedEdge,
  before: number,
  hasOthers: boolean,
): ScopeProblem["kind"] | null {
  if (fanout === undefined && gather === undefined) return null;
  if (parent === null) return "from requests";
  if (fanout !== undefined && gather !== undefined) return "both";
  if (gather !== undefined && before === REQUEST_ROWS) return "nothing to gather";
  return hasOthers ? "not alone" : null;
}
