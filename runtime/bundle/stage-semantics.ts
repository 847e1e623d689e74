/** Checks the edges of stages against each other, and sums up to rounding. */
import { MAX_QUERIES_PER_REQUEST } from "./limits.ts";
import {
  type InferlineBundle,
  isScopeProblem,
  meanQueriesOf,
  type RowScopes,
  rowScopesOf,
  type StageEdge,
  type StageTask,
} from "./schema.ts";
import { refuse } from "./table-semantics.ts";

interface Edges extends Pick<InferlineBundle, "entryBranch"> {
  readonly tasks: readonly Pick<StageTask, "edges" | "branch">[];
}

const MAX_EDGES = 256;
/** Rounding of sums of shares and of quotients. */
export const TOLERANCE = 1e-9;

/** Checks that edges come from the requests or earlier tasks, each once. */
export function checkEdges(edges: readonly StageEdge[], task: number, path: string): void {
  let previous = -2;
  for (const [index, { parent, feed }] of edges.entries()) {
    const at = `${path}[${index}]`;
    // The requests come before every task.
    const source = parent ?? -1;
    if (source >= task) refuse(`${at}.parent`, source, "the index of an earlier task");
    if (source <= previous) {
      refuse(`${at}.parent`, parent ?? "null", "a later task than that of the edge before");
    }
    if (parent === null && feed !== null) {
      refuse(`${at}.feed`, "a feed", "null, since no task is before it");
    }
    previous = source;
  }
}

/**
 * Checks that rows which meet at a task have one origin, and that gathered rows come from a
 * fan-out.
 */
export function checkRows({ tasks }: Pick<Edges, "tasks">): RowScopes {
  const found = rowScopesOf(tasks);
  if (!isScopeProblem(found)) {
    const queries = meanQueriesOf(found);
    if (queries <= MAX_QUERIES_PER_REQUEST) return found;
    const allowed = `at most ${MAX_QUERIES_PER_REQUEST}`;
    return refuse("tasks", `fan-outs of ${queries} queries per request`, allowed);
  }
  const { task, edge, kind } = found;
  const path = `tasks[${task}].edges[${edge}]`;
  switch (kind) {
    case "from requests":
      return refuse(path, "a fan-out or gather", "none of both, since no task is before it");
    case "both":
      return refuse(path, "a fan-out and gather", "at most one of both");
    case "nothing to gather":
      return refuse(`${path}.gather`, "a gather", "none, since no fan-out is before it");
    case "not alone":
      return refuse(`tasks[${task}].edges`, "several edges", "one, since it makes rows");
    case "mixed":
      return refuse(path, "rows of another origin", "those that the edge before brings");
  }
}

/**
 * Checks that queries of gathered rows, of any number, run alone: two of them cannot share a batch.
 */
export function checkGathered(edges: readonly StageEdge[], batch: number, path: string): void {
  if (batch <= 1 || !edges.some(({ gather }) => gather === "all")) return;
  refuse(path, `a batch of ${batch}`, "batches of 1, since rows of any number are gathered here");
}

/** Checks that the shares of exclusive edges sum to at most 1. */
export function checkBranches({ tasks, entryBranch }: Edges): void {
  const edgeCount = tasks.reduce((count, { edges }) => count + edges.length, 0);
  if (edgeCount > MAX_EDGES) refuse("tasks", `${edgeCount} edges`, `at most ${MAX_EDGES}`);
  if (entryBranch === "exclusive") checkShares(tasks, null, "entryBranch");
  for (const [index, { branch }] of tasks.entries()) {
    if (branch === "exclusive") checkShares(tasks, index, `tasks[${index}].branch`);
  }
}

function checkShares(tasks: Edges["tasks"], source: number | null, path: string): void {
  const share = tasks
    .flatMap(({ edges }) => edges.filter(({ parent }) => parent === source))
    .reduce((sum, edge) => sum + edge.share, 0);
  if (share <= 1 + TOLERANCE) return;
  refuse(path, `"exclusive"`, `"independent", since the shares of its edges sum to ${share}`);
}

/** Compares up to rounding, relative to the expected value. */
export function checkClose(found: number, expected: number, path: string, why: string): void {
  const isClose = Math.abs(found - expected) <= TOLERANCE * expected;
  // An infinite one would be close to everything.
  if (!isClose || !Number.isFinite(expected)) refuse(path, found, `${expected}, ${why}`);
}
