/** Says how far the search for a plan may go. */
import type { SearchLimits } from "./search.ts";

export interface PlanOptions {
  /** "auto" is branch and price; the others solve one mixed-integer program over assignments. */
  readonly solver: "auto" | "glpk" | "highs";
  /** Limit of the whole call, as steps that take about so long: results are the same everywhere. */
  readonly timeLimitMs: number;
}

/** Steps that a processor of 2020 takes in a millisecond. */
const STEPS_PER_MS = 400_000;

export function searchLimits(
  { timeLimitMs }: Omit<PlanOptions, "solver">,
  nodes: number,
): SearchLimits {
  return { nodes, steps: { left: timeLimitMs * STEPS_PER_MS } };
}
