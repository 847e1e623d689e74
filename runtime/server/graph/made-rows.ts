/** How many rows fan-outs may have made of what is under way. */
import { meanRowsOf } from "../../bundle/schema.ts";
import type { TaskGraph } from "../../core/graph/task-graph.ts";

/** Rows that there is room for, times those that requests make in the mean: some make more. */
const ROOM = 4;
/** For each row that may be pending, at least; as many as a tree of Loki has room for. */
const LEAST_PER_ROW = 16;
/** Each takes some hundred bytes. */
const MOST_ROWS = 2 ** 21;

/** @param maxPending rows of requests that are open at most. */
export function madeRowCapacity({ scopes }: TaskGraph, maxPending: number): number {
  if (scopes.length === 1) return 0;
  const [, ...made] = meanRowsOf(scopes);
  const mean = made.reduce((sum, one) => sum + one, 0);
  return Math.min(MOST_ROWS, Math.max(LEAST_PER_ROW, Math.ceil(ROOM * mean)) * maxPending);
}
