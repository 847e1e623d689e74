/** Which solver answers for which method. */
import type { Bundle } from "../../runtime/bundle/schema.ts";
import type { Application } from "../spec/application.ts";
import type { Mistake } from "../spec/mistakes.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import type { Solver } from "./solver.ts";

const SOLVERS: Readonly<Record<Bundle["method"], Solver>> = { ramsis };

export function solverFor(method: Bundle["method"]): Solver {
  return SOLVERS[method];
}

/** The solver of an application, or that this version has none. */
export function solverOrMistake({ policy }: Application): Solver | Mistake {
  if (policy.method === "ramsis") return SOLVERS.ramsis;
  return {
    code: "INPUT_UNSUPPORTED",
    path: ["policy", "method"],
    message: `this version cannot compile "${policy.method}" yet; allowed: ${Object.keys(SOLVERS).join(", ")}`,
  };
}
