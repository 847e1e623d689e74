/** Limits on the rows of a trace that can be under way. */
import type { RequestTrace } from "./visits.ts";

/** Maximum requests under way; further requests are dropped. */
const REQUEST_CAPACITY = 2 ** 20;

/** Maximum rows under way that fan-outs made of these; a request that exceeds it is dropped. */
export const MADE_CAPACITY = 2 ** 22;

/**
 * Returns the maximum number of rows that are under way at once: requests and rows made from them.
 */
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
