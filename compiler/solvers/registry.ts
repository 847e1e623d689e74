/** Which solver answers for which method. */
import { accordion } from "./accordion/accordion.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import type {
  PlaceSolver,
  PlanSolver,
  ProvisioningSolver,
  ScalingSolver,
  TableSolver,
} from "./solver.ts";
import { themis } from "./themis/themis.ts";

export const SOLVERS: {
  readonly ramsis: TableSolver;
  readonly loki: PlanSolver;
  readonly inferline: ProvisioningSolver;
  readonly themis: ScalingSolver;
  readonly accordion: PlaceSolver;
} = { ramsis, loki, inferline, themis, accordion };
