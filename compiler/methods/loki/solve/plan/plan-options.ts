/** Limits of the search for a plan. */
import type { SearchLimits } from "./search.ts";

export interface PlanOptions {
  /** "auto" is branch and price; the others solve one mixed-integer program over assignments. */
  readonly solver: "auto" | "glpk" | "highs";
  /**
   * Limit of the whole call, converted to steps of about this duration: results are the same on
   * every machine.
   */
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
