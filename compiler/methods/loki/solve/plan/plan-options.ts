/** Says how far the search for a plan may go. */
import type { SearchLimits } from "./search.ts";

export interface PlanOptions {
  /** "auto" is branch and price; the others solve one mixed-integer program over assignments. */
  readonly solver: "auto" | "glpk" | "highs";
  /**
   * Limit of the whole call, which is checked only with a clock. Searches also end after a number
   * of nodes, which makes their result the same everywhere.
   */
  readonly timeLimitMs: number;
  readonly nowMs?: () => number;
}

/** Limits that count from now. */
export function searchLimits(
  { timeLimitMs, nowMs }: Omit<PlanOptions, "solver">,
  nodes: number,
): SearchLimits {
  if (nowMs === undefined) return { nodes, isLate: () => false };
  const end = nowMs() + timeLimitMs;
  return { nodes, isLate: () => nowMs() > end };
}
