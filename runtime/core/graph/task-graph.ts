/** Flattens which task follows which. */
import type { Branch, StageTask } from "../../bundle/schema.ts";
import { assert } from "../assert.ts";

/** In place of a task: the requests, which entries come from. */
export const REQUESTS = -1;

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
}

export function taskGraphOf({
  tasks,
  entryBranch,
}: {
  readonly tasks: readonly Pick<StageTask, "edges" | "branch">[];
  readonly entryBranch: Branch;
}): TaskGraph {
  const edges = tasks.flatMap((task, child) =>
    task.edges.map(({ parent, share }) => ({ parent: parent ?? REQUESTS, child, share })),
  );
  for (const { parent, child } of edges) {
    assert(parent < child, "a task comes after those before it");
  }
  const outEdges = [REQUESTS, ...tasks.keys()].map((source) =>
    edges.flatMap(({ parent }, edge) => (parent === source ? [edge] : [])),
  );
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
  };
}

/** Where each of consecutive runs begins, and where the last ends. */
function startsOf(lengths: readonly number[]): Uint32Array {
  const start = new Uint32Array(lengths.length + 1);
  for (const [index, length] of lengths.entries()) start[index + 1] = start[index]! + length;
  return start;
}
