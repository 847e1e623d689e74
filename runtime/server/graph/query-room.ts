/** How many queries of a graph of replicas there is room for at a time. */

import { meanRowsOf } from "../../bundle/schema.ts";
import { busyNames, type ReplicaShape } from "../../core/graph/replica-shape.ts";
import type { TaskGraph } from "../../core/graph/task-graph.ts";

interface QueryRoom {
  readonly queryCapacity: number;
  /** Rows of them that fan-outs made. */
  readonly madeRows: number;
}

type RoomShape = Pick<ReplicaShape, "graph" | "taskCount" | "workerCount" | "maxBatchByTaskPool">;

/** @param maxPending rows that are open at most. */
export function queryRoom(shape: RoomShape, maxPending: number): QueryRoom {
  const madeRows = madeRowCapacity(shape.graph, maxPending);
  // A row waits for every task at once at most.
  const queryCapacity = shape.taskCount * maxPending + madeRows + busyNames(shape);
  return { queryCapacity, madeRows };
}

/** Rows that there is room for, times those that requests make in the mean: some make more. */
const ROOM = 4;
/** For each row that may be pending, at least; as many as a tree of Loki has room for. */
const LEAST_PER_ROW = 16;
/** Each takes some hundred bytes. */
const MOST_ROWS = 2 ** 21;

/** @param maxPending rows of requests that are open at most. */
function madeRowCapacity({ scopes }: TaskGraph, maxPending: number): number {
  if (scopes.length === 1) return 0;
  const [, ...made] = meanRowsOf(scopes);
  const mean = made.reduce((sum, one) => sum + one, 0);
  return Math.min(MOST_ROWS, Math.max(LEAST_PER_ROW, Math.ceil(ROOM * mean)) * maxPending);
}
