import type { Bundle } from "../../runtime/bundle/schema.ts";
import type { Application } from "../spec/application.ts";
import { InputError } from "../spec/input-error.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import type { Solver } from "./solver.ts";

const SOLVERS: Readonly<Record<Bundle["method"], Solver>> = { ramsis };

export function solverFor(method: Bundle["method"]): Solver {
  return SOLVERS[method];
}

/** @throws InputError if no solver for the application's method is part of this version. */
export function solverForApplication(application: Application): Solver {
  const { method } = application.policy;
  const known = Object.keys(SOLVERS).join(", ");
  if (method !== "ramsis") {
    throw new InputError(
      "INPUT_UNSUPPORTED",
      `${application.file} policy.method: this version cannot compile "${method}" yet; allowed: ${known}`,
    );
  }
  return SOLVERS[method];
}
