/** Which solver answers for which method. */
import type { Bundle } from "../../runtime/bundle/schema.ts";
import type { Application } from "../spec/application.ts";
import type { Mistake } from "../spec/mistakes.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import type { PlanSolver, ProvisioningSolver, ScalingSolver, TableSolver } from "./solver.ts";
import { themis } from "./themis/themis.ts";

export const SOLVERS: {
  readonly ramsis: TableSolver;
  readonly loki: PlanSolver;
  readonly inferline: ProvisioningSolver;
  readonly themis: ScalingSolver;
} = { ramsis, loki, inferline, themis };

/** The method of an application, or that this version cannot compile it. */
export function methodOrMistake({ policy }: Application): Bundle["method"] | Mistake {
  const { method } = policy;
  if (method !== "accordion") return method;
  return {
    code: "INPUT_UNSUPPORTED",
    path: ["policy", "method"],
    message: `this version cannot compile "${method}" yet; allowed: ${Object.keys(SOLVERS).join(", ")}`,
  };
}
