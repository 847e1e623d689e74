/** Plans of the systems that Loki is compared with, for the same pipeline. Source: Loki §6.1. */
import type { PipelinePlan } from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../../model/frames.ts";
import { hardwarePlan } from "./baselines/hardware-plan.ts";
import { proteusPlan } from "./baselines/proteus-plan.ts";
import { bundledPlan } from "./bundled-plan.ts";
import { hardwareCapacityOf } from "./plan/capacity.ts";
import { pipelineProblem } from "./problem.ts";

export type LokiBaseline = "inferline" | "proteus";

/**
 * InferLine scales the hardware of the most accurate variants; Proteus scales the accuracy of every
 * task separately, without knowing the capacity of the pipeline.
 */
const SYSTEMS = {
  inferline: {
    plan: hardwarePlan,
    step: "hardware",
    capacityQps: (...args: Parameters<typeof hardwareCapacityOf>) =>
      hardwareCapacityOf(...args).qps,
  },
  proteus: { plan: proteusPlan, step: "accuracy", capacityQps: () => Number.POSITIVE_INFINITY },
} as const;

/** In the order of messages. */
export const PIPELINE_BASELINES: readonly LokiBaseline[] = ["inferline", "proteus"];

/** @returns null if the baseline finds no plan: it considers no other variants or latencies. */
export function baselinePlan(
  frame: LokiFrame,
  baseline: LokiBaseline,
  loadQps: number,
): PipelinePlan | null {
  const problem = pipelineProblem(frame);
  const options = { timeLimitMs: frame.policy.solveLimitMs };
  const { plan: planWith, step, capacityQps } = SYSTEMS[baseline];
  const plan = planWith(problem, loadQps, options);
  if (plan === null) return null;
  const demandQps = Math.min(loadQps, capacityQps(problem, options));
  return bundledPlan(problem, plan, { step, demandQps });
}
