/** Number of queries of a task graph that can be open at a time. */

import { meanRowsOf } from "../../bundle/schema.ts";
import { busyNames, type ReplicaShape } from "../../core/graph/replica-shape.ts";
import type { TaskGraph } from "../../core/graph/task-graph.ts";

interface QueryRoom {
  readonly queryCapacity: number;
  /** Rows of them that fan-outs made. */
  readonly madeRows: number;
}

type RoomShape = Pick<ReplicaShape, "graph" | "taskCount" | "workerCount" | "maxBatchByTaskPool">;

/** @param maxPending maximum number of open rows. */
export function queryRoom(shape: RoomShape, maxPending: number): QueryRoom {
  const madeRows = madeRowCapacity(shape.graph, maxPending);
  // A row waits for each task at most once.
  const queryCapacity = shape.taskCount * maxPending + madeRows + busyNames(shape);
  return { queryCapacity, madeRows };
}

/** Capacity for made rows as a multiple of the mean, since some requests make more. */
const ROOM = 4;
/** Minimum per row that may be pending; Loki's trees have the same capacity. */
const LEAST_PER_ROW = 16;
/** Each row takes some hundred bytes. */
const MOST_ROWS = 2 ** 21;

/** @param maxPending maximum number of rows of open requests. */
function madeRowCapacity({ scopes }: TaskGraph, maxPending: number): number {
  if (scopes.length === 1) return 0;
  const [, ...made] = meanRowsOf(scopes);
  const mean = made.reduce((sum, one) => sum + one, 0);
  return Math.min(MOST_ROWS, Math.max(LEAST_PER_ROW, Math.ceil(ROOM * mean)) * maxPending);
}
