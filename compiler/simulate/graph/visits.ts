/**
 * Which edges of a pipeline each request takes: coins that are tossed once per request, so that
 * every plan is tried on the same requests.
 */
import { chosenEdge, SHARE_TOLERANCE } from "stratagem-runtime/internal/core/graph/exclusive-edges";
import { REQUESTS, type TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { Rng } from "stratagem-runtime/internal/core/rng";

/** Requests of a trace, and what each of them leads to whatever serves it. */
export interface RequestTrace {
  /** Non-decreasing, ms. */
  readonly arrivalMs: Float64Array;
  /**
   * By edge, by request: 1 where the edge is taken once the task before it was reached; null for an
   * edge that is always taken.
   */
  readonly takenByEdge: readonly (Uint8Array | null)[];
}

/** Streams of one seed; a source's coins do not depend on what other tasks there are. */
const VISIT_STREAM = 1000;

/**
 * The coins of a number of requests. A task's edges have each a coin, or, if they are exclusive,
 * one for all.
 */
export function tossVisits(
  graph: TaskGraph,
  requestCount: number,
  seed: number,
): RequestTrace["takenByEdge"] {
  const takenByEdge = new Array<Uint8Array | null>(graph.edgeCount).fill(null);
  for (let source = REQUESTS; source < graph.taskCount; source++) {
    const edges = graph.outEdge.subarray(graph.outStart[source + 1], graph.outStart[source + 2]);
    const isExclusive = graph.isExclusive[source + 1] === 1;
    if (isExclusive) tossOne(graph, edges, requestCount, seed, takenByEdge);
    else tossEach(graph, edges, requestCount, seed, takenByEdge);
  }
  return takenByEdge;
}

function tossEach(
  { shareByEdge }: TaskGraph,
  edges: Uint32Array,
  requestCount: number,
  seed: number,
  takenByEdge: (Uint8Array | null)[],
): void {
  for (const edge of edges) {
    const share = shareByEdge[edge] ?? 1;
    if (share >= 1) continue;
    const rng = new Rng(seed, VISIT_STREAM + edge);
    const taken = new Uint8Array(requestCount);
    for (let request = 0; request < requestCount; request++) {
      taken[request] = rng.nextFloat() < share ? 1 : 0;
    }
    takenByEdge[edge] = taken;
  }
}

function tossOne(
  { shareByEdge }: TaskGraph,
  edges: Uint32Array,
  requestCount: number,
  seed: number,
  takenByEdge: (Uint8Array | null)[],
): void {
  const [first] = edges;
  if (first === undefined) return;
  const rng = new Rng(seed, VISIT_STREAM + first);
  const taken = Array.from(edges, () => new Uint8Array(requestCount));
  const total = edges.reduce((sum, edge) => sum + (shareByEdge[edge] ?? 0), 0);
  const isOneTaken = total > 1 - SHARE_TOLERANCE;
  for (let request = 0; request < requestCount; request++) {
    const chosen = taken[chosenEdge(edges, shareByEdge, rng.nextFloat(), isOneTaken)];
    if (chosen !== undefined) chosen[request] = 1;
  }
  for (const [position, edge] of edges.entries()) takenByEdge[edge] = taken[position] ?? null;
}
