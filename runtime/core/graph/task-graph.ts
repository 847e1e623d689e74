/** Flattens which task follows which. */
import {
  type Branch,
  isScopeProblem,
  type RowScope,
  rowScopesOf,
  type StageTask,
} from "../../bundle/schema.ts";
import { assert } from "../assert.ts";

/** Stands for a task: the requests, which entries come from. */
export const REQUESTS = -1;

/**
 * Effect of an edge on rows: keeps them, makes several of one, makes one of all that were made of
 * one, or one of each window of these.
 */
export const PLAIN = 0;
export const SPREAD = 1;
export const GATHER = 2;
export const WINDOWS = 3;

/**
 * Which task follows which, as flat arrays, the same at every load. Edges are numbered by the task
 * they lead to, then by the one they come from; so tasks and edges are both in topological order.
 */
export interface TaskGraph {
  readonly taskCount: number;
  readonly edgeCount: number;
  /** [edgeCount]: the task before, REQUESTS for an entry. */
  readonly parentByEdge: Int32Array;
  readonly childByEdge: Uint32Array;
  /** [edgeCount]: probability that a query of the task before takes the edge. */
  readonly shareByEdge: Float64Array;
  /** [taskCount + 1]: edges into task t are `inStart[t]` to `inStart[t + 1] - 1`. */
  readonly inStart: Uint32Array;
  /**
   * [taskCount + 2]: edges away from task t, ascending, are `outEdge[outStart[t + 1]]` to
   * `outEdge[outStart[t + 2] - 1]`; for REQUESTS likewise.
   */
  readonly outStart: Uint32Array;
  readonly outEdge: Uint32Array;
  /**
   * [taskCount + 1], of task t at t + 1, of the requests at 0: whether at most one of the edges
   * away is taken.
   */
  readonly isExclusive: Uint8Array;
  /** [edgeCount]: PLAIN, SPREAD, GATHER or WINDOWS. */
  readonly kindByEdge: Uint8Array;
  /** Mean rows that a row which takes the edge makes, [edgeCount]; 1 for edges that make none. */
  readonly fanoutByEdge: Float64Array;
  /** Rows of a window, [edgeCount]; 0 for edges without one. */
  readonly windowByEdge: Uint32Array;
  /** Scopes of rows; the first is of the rows of requests, and each comes after its parent. */
  readonly scopes: readonly GraphScope[];
  /** [taskCount] */
  readonly scopeByTask: Uint32Array;
}

/** Rows that one edge makes. */
interface GraphScope extends RowScope {
  /** The edge that makes them; −1 for requests. */
  readonly edge: number;
  readonly taskCount: number;
  /** Edges that gather them, ascending. */
  readonly gathers: readonly number[];
}

export function taskGraphOf({
  tasks,
  entryBranch,
}: {
  readonly tasks: readonly Pick<StageTask, "edges" | "branch">[];
  readonly entryBranch: Branch;
}): TaskGraph {
  const edges = tasks.flatMap((task, child) =>
    task.edges.map(({ parent, ...edge }) => ({ ...edge, parent: parent ?? REQUESTS, child })),
  );
  for (const { parent, child } of edges) {
    assert(parent < child, "a task comes after those before it");
  }
  const outEdges = [REQUESTS, ...tasks.keys()].map((source) =>
    edges.flatMap(({ parent }, edge) => (parent === source ? [edge] : [])),
  );
  const found = rowScopesOf(tasks);
  assert(!isScopeProblem(found), "rows that meet are of one scope");
  const { scopes, byTask } = found;
  const branches: Branch[] = [entryBranch, ...tasks.map(({ branch }) => branch)];
  return {
    taskCount: tasks.length,
    edgeCount: edges.length,
    parentByEdge: Int32Array.from(edges, ({ parent }) => parent),
    childByEdge: Uint32Array.from(edges, ({ child }) => child),
    shareByEdge: Float64Array.from(edges, ({ share }) => share),
    inStart: startsOf(tasks.map((task) => task.edges.length)),
    outStart: startsOf(outEdges.map(({ length }) => length)),
    outEdge: Uint32Array.from(outEdges.flat()),
    isExclusive: Uint8Array.from(branches, (branch) => Number(branch === "exclusive")),
    kindByEdge: Uint8Array.from(edges, kindOf),
    fanoutByEdge: Float64Array.from(edges, ({ fanout }) => fanout ?? 1),
    windowByEdge: Uint32Array.from(edges, ({ gather }) =>
      typeof gather === "number" ? gather : 0,
    ),
    scopes: scopes.map((scope, index) => ({
      ...scope,
      edge: edges.findIndex((edge) => isMaking(edge) && edge.child === scope.entry),
      taskCount: byTask.filter((one) => one === index).length,
      gathers: edges.flatMap(({ parent, gather }, edge) =>
        gather !== undefined && byTask[parent] === index ? [edge] : [],
      ),
    })),
    scopeByTask: Uint32Array.from(byTask),
  };
}

type EdgeRows = Pick<StageTask["edges"][number], "fanout" | "gather">;

function isMaking({ fanout, gather }: EdgeRows): boolean {
  return fanout !== undefined || typeof gather === "number";
}

function kindOf({ fanout, gather }: EdgeRows): number {
  if (fanout !== undefined) return SPREAD;
  if (gather === undefined) return PLAIN;
  return gather === "all" ? GATHER : WINDOWS;
}

/** Returns where each of consecutive runs begins, and where the last ends. */
function startsOf(lengths: readonly number[]): Uint32Array {
  const start = new Uint32Array(lengths.length + 1);
  for (const [index, length] of lengths.entries()) start[index + 1] = start[index]! + length;
  return start;
}
