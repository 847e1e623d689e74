/** Values of `--solver`: value iteration for RAMSIS, the others for Loki. */
export const SOLVER_NAMES = ["value-iteration", "auto", "glpk", "highs"] as const;

export type SolverName = (typeof SOLVER_NAMES)[number];
