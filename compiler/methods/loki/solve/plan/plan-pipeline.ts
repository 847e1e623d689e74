/**
 * Finds the plan for a demand D: the mixed-integer programs of Loki §4.1, solved in two steps.
 *
 * Variables, with y(i,k) of eq. 4 as an index b (one batch size per variant if the policy says so):
 * x(i,k,b) >= 0, integer: servers of variant k of task i with batch size b;
 * c(p) >= 0: share of the requests that takes path p, from an entry to a leaf.
 *
 * Subject to
 * sum_{p through (i,k,b)} D c(p) m(p,i) <= x(i,k,b) q(i,k,b) for all i, k, b (eq. 2)
 * m(p,i) = product of the fan-outs before task i on p (eq. 1)
 * sum_{i,k,b} x(i,k,b) <= S, also for each pool by itself (eq. 3)
 * sum_{(i,k,b) on p} l(i,k,b) <= L_leaf where c(p) > 0, l = b / q (eq. 5-7)
 * sum_{p to a leaf} c(p) = 1 for every leaf
 * The last line is ours, for without it step 1 has the optimum 0; L_leaf is the part of the SLO
 * that is for execution (half of it in the paper), less the communication of §4.2.
 *
 * Step 1: min sum x, with the most accurate variants only (eq. 8-11)
 * Step 2, if that has no solution: max sum_leaf w_leaf sum_p c(p) A(p) (eq. 12), and of the equally
 * accurate plans one with the fewest servers, which is ours.
 *
 * Solved without path indicators: a column is an assignment of (variant, batch, pool) to every task
 * of an entry's tree that keeps every L_leaf, so eq. 7 holds for every generated column
 * (`node-program.ts`), and the search branches on the integers (`search.ts`). Deviations are in
 * docs/sources.md.
 */
import type { PipelinePlan, PipelineProblem } from "../../../../model/pipeline.ts";
import { checkPlan } from "./check-plan.ts";
import { planByColumns } from "./column-program.ts";
import { type PlanOptions, searchLimits } from "./plan-options.ts";
import type { SearchLimits } from "./search.ts";
import { type SlotModel, slotModel } from "./slots.ts";
import {
  ACCURACY_TOLERANCE,
  fewestServers,
  isMostAccurate,
  mostAccuratePlan,
  planAbove,
  planOfStep,
  type StepResult,
} from "./step.ts";

interface PlanReport {
  readonly method: string;
  /** "unknown": neither a plan nor a proof that none exists was found within the limits. */
  readonly status: "optimal" | "feasible" | "infeasible" | "unknown";
  /**
   * The optimum is better by at most this, proven: servers in step 1, accuracy in step 2. Without a
   * plan it is the highest accuracy that a plan can have.
   */
  readonly gap: number;
  /** Rows of the linear program before branching, and assignments that it considered. */
  readonly rows: number;
  readonly columns: number;
  /** Linear programs, or nodes as the solver counts them. */
  readonly nodes: number;
  /** Whether no plan of the same accuracy has fewer servers. */
  readonly hasFewestServers: boolean;
}

export interface PlanResult {
  readonly plan: PipelinePlan | null;
  readonly step: "hardware" | "accuracy";
  readonly report: PlanReport;
}

const NODE_LIMIT = 20_000;
/** Node limit for the tie of equally accurate plans, where a plan is already known. */
const TIE_NODE_LIMIT = 3000;

/**
 * The plan for a demand: with the most accurate variants on the fewest servers or, if that is
 * infeasible, of the highest accuracy (ties to the fewest servers).
 *
 * @param demandQps requests per second.
 * @returns deterministic unless a time limit is hit.
 * Source: Loki §4.1, eq. 11 and 12; differences are in docs/sources.md.
 */
export async function planPipeline(
  problem: PipelineProblem,
  demandQps: number,
  options: PlanOptions,
): Promise<PlanResult> {
  const limits = searchLimits(options, NODE_LIMIT);
  const accurate = slotModel(problem, isMostAccurate(problem));
  const hardware =
    options.solver === "auto"
      ? fewestServers(accurate, demandQps, limits)
      : await planByColumns(accurate, demandQps, "servers", options, options.solver);
  if (hardware.point !== null) {
    const gap = gapOf(hardware, true);
    return checked(problem, demandQps, {
      plan: planOfStep(hardware),
      step: "hardware",
      report: reportOf(hardware, options, gap, gap === 0),
    });
  }
  return scaleAccuracy(problem, demandQps, options, limits, isInfeasible(hardware));
}

/** @param isSettled whether the most accurate variants are proven not to serve the demand. */
async function scaleAccuracy(
  problem: PipelineProblem,
  demandQps: number,
  options: PlanOptions,
  limits: SearchLimits,
  isSettled: boolean,
): Promise<PlanResult> {
  const model = slotModel(problem);
  const found =
    options.solver === "auto"
      ? mostAccuratePlan(model, demandQps, limits)
      : await planByColumns(model, demandQps, "accuracy", options, options.solver);
  const step = "accuracy";
  if (found.point === null) {
    const report = reportOf(found, options, found.bound, false);
    const status = isInfeasible(found) ? "infeasible" : "unknown";
    return { plan: null, step, report: { ...report, status } };
  }
  const gap = gapOf(found, false);
  const tied =
    gap > 0
      ? { result: found, isProven: false, nodes: found.nodes }
      : settleTie(model, demandQps, found, { ...limits, nodes: TIE_NODE_LIMIT });
  const report = reportOf(found, options, gap, tied.isProven);
  return checked(problem, demandQps, {
    plan: planOfStep(tied.result),
    step,
    report: { ...report, status: isSettled ? report.status : "feasible", nodes: tied.nodes },
  });
}

/**
 * The fewest servers for an accuracy. Usually the optimum needs all available servers, which a
 * search for an equally accurate plan with one server less proves with the bounds of accuracy, much
 * sooner than a search for the fewest servers does.
 */
function settleTie(model: SlotModel, demandQps: number, found: StepResult, limits: SearchLimits) {
  const servers = found.point?.serversBySet[0] ?? 0;
  const least = (found.point?.worth ?? 0) - ACCURACY_TOLERANCE;
  const fewer = planAbove(model, found.pool, limits, least, servers - 1);
  const nodes = found.nodes + fewer.nodes;
  if (fewer.point === null) return { result: found, isProven: isInfeasible(fewer), nodes };
  const above = -(fewer.point.serversBySet[0] ?? 0);
  const fewest = fewestServers(model, demandQps, limits, least, above);
  return {
    result: fewest.point === null ? fewer : fewest,
    isProven: Math.floor(fewest.bound + 1e-6) <= (fewest.point?.worth ?? above),
    nodes: nodes + fewest.nodes,
  };
}

/** Returns whether a search ended without a point and with nothing left to search. */
function isInfeasible({ point, bound }: StepResult): boolean {
  return point === null && bound === Number.NEGATIVE_INFINITY;
}

function gapOf({ bound, point }: StepResult, isWhole: boolean): number {
  const gap = (isWhole ? Math.floor(bound + 1e-6) : bound) - (point?.worth ?? 0);
  return gap <= 2 * ACCURACY_TOLERANCE ? 0 : gap;
}

function reportOf(
  { pool, rows, nodes }: StepResult,
  { solver }: PlanOptions,
  gap: number,
  hasFewestServers: boolean,
): PlanReport {
  const method = solver === "auto" ? "branch-and-price" : solver;
  const status = gap === 0 ? "optimal" : "feasible";
  return { method, status, gap, rows, columns: pool.count, nodes, hasFewestServers };
}

function checked(problem: PipelineProblem, demandQps: number, result: PlanResult): PlanResult {
  const mistakes = result.plan === null ? [] : checkPlan(problem, demandQps, result.plan);
  if (mistakes.length > 0) throw new Error(`assertion failed: ${mistakes.join("; ")}`);
  return result;
}
