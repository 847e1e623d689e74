/** Plans of the systems that Loki is compared with, for the same pipeline. Source: Loki §6.1. */
import type { PipelinePlan } from "../../../../runtime/bundle/schema.ts";
import type { LokiFrame } from "../../solver.ts";
import { hardwarePlan } from "./baselines/hardware-plan.ts";
import { proteusPlan } from "./baselines/proteus-plan.ts";
import { bundledPlan } from "./bundled-plan.ts";
import { hardwareCapacityOf } from "./plan/capacity.ts";
import { pipelineProblem } from "./problem.ts";

/** InferLine scales the hardware of the most accurate variants; Proteus the accuracy of every task by itself. */
export type PipelineBaseline = "inferline" | "proteus";

/** @param nowMs a monotonic clock, for the time limit. @returns null if the baseline finds none: it knows no other variants, or latencies, that would do. */
export function baselinePlan(
  frame: LokiFrame,
  baseline: PipelineBaseline,
  loadQps: number,
  nowMs: () => number,
): PipelinePlan | null {
  const problem = pipelineProblem(frame);
  const options = { timeLimitMs: frame.policy.solveLimitMs, nowMs };
  const plan =
    baseline === "inferline"
      ? hardwarePlan(problem, loadQps, options)
      : proteusPlan(problem, loadQps, options);
  if (plan === null) return null;
  const step = baseline === "inferline" ? "hardware" : "accuracy";
  // Proteus does not know what the pipeline can carry.
  const capacityQps =
    baseline === "inferline" ? hardwareCapacityOf(problem, options).qps : Number.POSITIVE_INFINITY;
  return bundledPlan(problem, plan, { step, demandQps: Math.min(loadQps, capacityQps) });
}
