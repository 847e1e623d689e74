import createGlpk from "glpk.js/node";
import type { DenseAction, DenseMdp } from "../../../../support/dense-ramsis.ts";

const glpk = await createGlpk();

export interface Row {
  /** By variable. */
  readonly coefficients: ReadonlyMap<number, number>;
  readonly kind: "equal" | "at-most";
  readonly bound: number;
}

/**
 * Maximum of a linear objective over variables of at least 0, or null where no point is feasible.
 * GLPK holds rows to 1e-7.
 */
export function maximum(objective: readonly number[], rows: readonly Row[]): number | null {
  const terms = (coefficients: Iterable<readonly [number, number]>) =>
    [...coefficients].map(([variable, coef]) => ({ name: `x${variable}`, coef }));
  const { result } = glpk.solve(
    {
      name: "oracle",
      objective: { direction: glpk.GLP_MAX, name: "value", vars: terms(objective.entries()) },
      subjectTo: rows.map(({ coefficients, kind, bound }, index) => ({
        name: `row${index}`,
        vars: terms(coefficients),
        bnds: { type: kind === "equal" ? glpk.GLP_FX : glpk.GLP_UP, lb: bound, ub: bound },
      })),
    },
    { msglev: glpk.GLP_MSG_OFF },
  );
  return result.status === glpk.GLP_OPT ? result.z : null;
}

/**
 * The constrained MDP over its occupation measure x(state, action), scaled to one query: maximise
 * accuracy where violations are at most `ceiling`. Source: Altman, Constrained Markov Decision
 * Processes, 1999, ch. 4.
 */
export function constrainedOptimum(mdp: DenseMdp, ceiling: number): number | null {
  const violations = coefficients(mdp, (action) => action.batch * (1 - action.satisfied));
  return maximum(
    pairsOf(mdp).map(({ action }) => action.batch * action.accuracy),
    [...occupation(mdp), { coefficients: violations, kind: "at-most", bound: ceiling }],
  );
}

/** Share of the queries that the safest policy serves in time. */
export function mostSatisfied(mdp: DenseMdp): number | null {
  return maximum(
    pairsOf(mdp).map(({ action }) => action.batch * action.satisfied),
    occupation(mdp),
  );
}

function pairsOf(mdp: DenseMdp): { state: number; action: DenseAction }[] {
  return mdp.actions.flatMap((actions, state) => actions.map((action) => ({ state, action })));
}

function coefficients(mdp: DenseMdp, of: (action: DenseAction, state: number) => number) {
  const all = pairsOf(mdp).map(({ state, action }, pair) => [pair, of(action, state)] as const);
  return new Map(all.filter(([, coefficient]) => coefficient !== 0));
}

function occupation(mdp: DenseMdp): Row[] {
  const flow = mdp.actions.map((_, to): Row => {
    const balance = coefficients(
      mdp,
      (action, state) => (state === to ? 1 : 0) - (action.next[to] ?? 0),
    );
    return { coefficients: balance, kind: "equal", bound: 0 };
  });
  const oneQuery = coefficients(mdp, (action) => action.batch);
  return [...flow, { coefficients: oneQuery, kind: "equal", bound: 1 }];
}
