/** Says how many rows of a trace can be under way. */
import type { RequestTrace } from "./visits.ts";

/** Requests under way at most; one that finds no room is dropped. */
const REQUEST_CAPACITY = 2 ** 20;

/** Rows that fan-outs have made of these at most; a request that finds no room is dropped. */
export const MADE_CAPACITY = 2 ** 22;

/** Rows that are under way at most at one time, those of requests and those made of them. */
export function rowCountFor(trace: RequestTrace): number {
  return slotCountFor(trace) + madeCountFor(trace);
}

export function slotCountFor({ arrivalMs }: RequestTrace): number {
  return Math.max(1, Math.min(arrivalMs.length, REQUEST_CAPACITY));
}

export function madeCountFor({ rowsByScope = [] }: RequestTrace): number {
  const made = rowsByScope.slice(1).reduce((sum, { count }) => sum + count, 0);
  return Math.min(made, MADE_CAPACITY);
}
