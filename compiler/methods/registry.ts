/** Which solver answers for which method. */
import { accordion } from "./accordion/solve/accordion.ts";
import { inferline } from "./inferline/solve/inferline.ts";
import { loki } from "./loki/solve/loki.ts";
import { ramsis } from "./ramsis/solve/ramsis.ts";
import type {
  PlaceSolver,
  PlanSolver,
  ProvisioningSolver,
  ScalingSolver,
  TableSolver,
} from "./solver.ts";
import { themis } from "./themis/solve/themis.ts";

export const SOLVERS: {
  readonly ramsis: TableSolver;
  readonly loki: PlanSolver;
  readonly inferline: ProvisioningSolver;
  readonly themis: ScalingSolver;
  readonly accordion: PlaceSolver;
} = { ramsis, loki, inferline, themis, accordion };
