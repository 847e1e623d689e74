/** How many queries of a graph of replicas there is room for at a time. */
import { busyNames, type ReplicaShape } from "../../core/graph/replica-shape.ts";
import { madeRowCapacity } from "./made-rows.ts";

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
