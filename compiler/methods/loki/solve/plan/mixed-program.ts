/** Coefficient of a variable. */
export type Term = readonly [name: string, coefficient: number];

/** Maximise a linear objective over variables of at least 0. */
export interface MixedProgram {
  readonly objective: readonly Term[];
  readonly rows: readonly {
    readonly terms: readonly Term[];
    readonly kind: "equal" | "at-most";
    readonly bound: number;
  }[];
  readonly whole: readonly string[];
  /** 0 or 1. */
  readonly binary: readonly string[];
}

interface MixedSolution {
  readonly status: "optimal" | "feasible" | "infeasible" | "unknown";
  readonly values: ReadonlyMap<string, number> | null;
}

/**
 * Solves with a package that is loaded on first use: HiGHS is MIT, GLPK is GPL-3.0, and branch and
 * price needs neither.
 */
export function solveMixed(
  program: MixedProgram,
  solver: "glpk" | "highs",
  timeLimitMs: number,
): Promise<MixedSolution> {
  return solver === "glpk" ? byGlpk(program, timeLimitMs) : byHighs(program, timeLimitMs);
}

async function byGlpk(program: MixedProgram, timeLimitMs: number): Promise<MixedSolution> {
  const { default: load } = await import("glpk.js/node");
  const glpk = await load();
  const vars = (terms: readonly Term[]) => terms.map(([name, coef]) => ({ name, coef }));
  const { result } = glpk.solve(
    {
      name: "plan",
      objective: { direction: glpk.GLP_MAX, name: "worth", vars: vars(program.objective) },
      subjectTo: program.rows.map(({ terms, kind, bound }, index) => ({
        name: `row${index}`,
        vars: vars(terms),
        bnds: { type: kind === "equal" ? glpk.GLP_FX : glpk.GLP_UP, lb: bound, ub: bound },
      })),
      generals: [...program.whole],
      binaries: [...program.binary],
    },
    { msglev: glpk.GLP_MSG_OFF, tmlim: Math.max(1, Math.ceil(timeLimitMs / 1000)), mipgap: 0 },
  );
  if (result.status === glpk.GLP_NOFEAS || result.status === glpk.GLP_INFEAS) {
    return { status: "infeasible", values: null };
  }
  const values = new Map(Object.entries(result.vars));
  if (result.status === glpk.GLP_OPT) return { status: "optimal", values };
  if (result.status === glpk.GLP_FEAS) return { status: "feasible", values };
  return { status: "unknown", values: null };
}

async function byHighs(program: MixedProgram, timeLimitMs: number): Promise<MixedSolution> {
  const highs = await loadHighs();
  const { Status, Columns } = highs.solve(lpText(program), {
    time_limit: timeLimitMs / 1000,
    mip_rel_gap: 0,
    mip_abs_gap: 0,
    output_flag: false,
  });
  if (Status === "Infeasible") return { status: "infeasible", values: null };
  const values = new Map(
    Object.entries(Columns).map(([name, column]) => [name, primalOf(column)] as const),
  );
  if (Status === "Optimal") return { status: "optimal", values };
  const isPoint =
    Status === "Time limit reached" && [...values.values()].some((value) => value > 0);
  return isPoint ? { status: "feasible", values } : { status: "unknown", values: null };
}

function primalOf(column: object): number {
  return "Primal" in column && typeof column.Primal === "number" ? column.Primal : 0;
}

interface Highs {
  solve(
    problem: string,
    options: Readonly<Record<string, number | boolean>>,
  ): { readonly Status: string; readonly Columns: Readonly<Record<string, object>> };
}

/**
 * The package's types describe CommonJS, where the default export is one level deeper; its ESM
 * module has it here.
 */
async function loadHighs(): Promise<Highs> {
  const { default: load } = (await import("highs")) as unknown as { default: () => Promise<Highs> };
  return await load();
}

/** CPLEX LP format. Lines are short, as readers may limit them. */
function lpText({ objective, rows, whole, binary }: MixedProgram): string {
  const sum = (terms: readonly Term[]) =>
    terms.map(([name, value]) => `${value < 0 ? "-" : "+"} ${Math.abs(value)} ${name}`).join("\n ");
  const constraints = rows.map(
    ({ terms, kind, bound }) => ` ${sum(terms)} ${kind === "equal" ? "=" : "<="} ${bound}`,
  );
  return [
    "Maximize",
    ` ${sum(objective)}`,
    "Subject To",
    ...constraints,
    "General",
    ...whole.map((name) => ` ${name}`),
    ...(binary.length === 0 ? [] : ["Binary", ...binary.map((name) => ` ${name}`)]),
    "End",
  ].join("\n");
}
