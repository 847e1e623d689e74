/**
 * Loki: which variants run on how many servers, and what share of the requests takes which path.
 * Source: Loki §4.
 */
import type {
  PipelinePlan as BundledPlan,
  LokiLevel,
  PlanReport,
} from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../../model/frames.ts";
import type { PipelineProblem } from "../../../model/pipeline.ts";
import { bundledPlan, solverPlan } from "./bundled-plan.ts";
import { lokiFrame } from "./frame.ts";
import { lokiMistakes } from "./mistakes.ts";
import { type Capacity, capacityOf } from "./plan/capacity.ts";
import { nearestPlan } from "./plan/nearest-plan.ts";
import type { PlanOptions } from "./plan/plan-options.ts";
import { planPipeline } from "./plan/plan-pipeline.ts";
import { pipelineProblem } from "./problem.ts";

/** A level as planned, before a simulation has added its expected figures. */
export type PlannedLevel = Omit<LokiLevel, "expected" | "stages" | "transition">;

export const loki = {
  mistakes: lokiMistakes,
  frame: lokiFrame,
  planLevel,
  settle,
};

/** The capacity is a supremum: at exactly this load rounding decides. */
const CAPACITY_MARGIN = 1e-6;

/**
 * The plan for a load and its headroom; beyond the capacity the plan for the capacity, and the rest
 * is shed.
 */
async function planLevel(
  frame: LokiFrame,
  loadQps: number,
  headroom: number,
): Promise<PlannedLevel> {
  const problem = pipelineProblem(frame);
  const options = optionsOf(frame);
  const wantedQps = loadQps * (1 + headroom);
  const found = await planPipeline(problem, wantedQps, options);
  const capacity = capacityIn(frame, problem, options);
  const capacityQps = capacity.qps;
  if (found.plan !== null) {
    return {
      loadQps,
      feasible: true,
      // The capacity is known up to a gap; the load may lie within it.
      capacityQps: Math.max(capacityQps, loadQps),
      plan: bundledPlan(problem, found.plan, { step: found.step, demandQps: wantedQps }),
      solve: reportOf(found.report),
    };
  }
  const demandQps = Math.min(capacityQps, wantedQps) * (1 - CAPACITY_MARGIN);
  const { report, step, ...most } = await planPipeline(problem, demandQps, options);
  // The plan of the capacity serves the demand too, if a search ends without a plan.
  const plan = most.plan ?? capacity.plan;
  if (plan === null) throw new RangeError("no plan for the capacity");
  const isFound = most.plan !== null;
  const gap = isFound ? report.gap : Math.max(0, report.gap - plan.accuracy);
  return {
    loadQps,
    feasible: loadQps <= capacityQps,
    capacityQps,
    plan: bundledPlan(problem, plan, { step, demandQps }),
    solve: reportOf({ ...report, status: isFound ? report.status : "feasible", gap }),
  };
}

/**
 * The plan of a level with the fewest model loads from its neighbour's, among equally good ones.
 */
async function settle(
  frame: LokiFrame,
  level: LokiLevel,
  neighbour: LokiLevel,
): Promise<BundledPlan> {
  const problem = pipelineProblem(frame);
  const { plan } = level;
  const settled = nearestPlan(
    problem,
    plan.demandQps,
    solverPlan(problem, plan),
    solverPlan(problem, neighbour.plan),
    optionsOf(frame),
  );
  return bundledPlan(problem, settled, plan);
}

const capacities = new WeakMap<LokiFrame, Capacity>();

/** Caches the capacity of a frame: a process solves many levels of one frame. */
function capacityIn(frame: LokiFrame, problem: PipelineProblem, options: PlanOptions): Capacity {
  const known = capacities.get(frame) ?? capacityOf(problem, options);
  capacities.set(frame, known);
  return known;
}

function optionsOf({ policy }: LokiFrame): PlanOptions {
  return { solver: policy.solver, timeLimitMs: policy.solveLimitMs };
}

function reportOf({ method, status, gap, rows, columns, nodes }: FoundReport): PlanReport {
  if (status !== "optimal" && status !== "feasible") throw new TypeError("no plan was found");
  return { method, status, gap, rows, columns, nodes };
}

type FoundReport = Awaited<ReturnType<typeof planPipeline>>["report"];
