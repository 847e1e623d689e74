/** A judge of scaling plans that knows nothing of how they are found. */
import type {
  ScalingPlan,
  ScalingProblem,
  TaskScale,
} from "../../compiler/methods/themis/solve/problem.ts";
import type { ScalingMode } from "../../compiler/methods/themis/solve/task-options.ts";

/** Sums in another order differ in the last bits. */
export const ROUNDING = 1e-12;

/** Processing, the wait for a full batch, and the hop; ms. */
export function stageMs(problem: ScalingProblem, at: number, { batch, cores }: TaskScale): number {
  const { maxBatch, latencyMs, scale } = stageAt(problem, at);
  const processingMs = latencyMs[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
  return problem.hopMs + processingMs + (1000 * (batch - 1)) / (problem.loadQps * scale);
}

export function endToEndMs(problem: ScalingProblem, scales: readonly TaskScale[]): number {
  const endMs: number[] = [];
  for (const [at, { parents }] of problem.stages.entries()) {
    const startMs = Math.max(0, ...parents.map((parent) => endMs[parent] ?? Number.NaN));
    endMs.push(startMs + stageMs(problem, at, scales[at] ?? { batch: 0, cores: 0, instances: 0 }));
  }
  return Math.max(...endMs);
}

export function isStable(
  problem: ScalingProblem,
  at: number,
  { batch, cores, instances }: TaskScale,
): boolean {
  const { maxBatch, latencyMs, scale } = stageAt(problem, at);
  const processingMs = latencyMs[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
  return instances * ((1000 * batch) / processingMs) >= problem.loadQps * scale;
}

/** What is wrong with a plan; nothing if it is one. */
export function faultsOf(problem: ScalingProblem, mode: ScalingMode, plan: ScalingPlan): string[] {
  const faults: string[] = [];
  const check = (isRight: boolean, fault: string) => {
    if (!isRight) faults.push(fault);
  };
  check(plan.stages.length === problem.stages.length, "a scale for each stage");
  for (const [at, scale] of plan.stages.entries()) {
    const { maxBatch, maxCores } = stageAt(problem, at);
    const { batch, cores, instances } = scale;
    check(Number.isInteger(batch) && batch >= 1 && batch <= maxBatch, `batch of stage ${at}`);
    check(Number.isInteger(cores) && cores >= 1 && cores <= maxCores, `cores of stage ${at}`);
    check(Number.isInteger(instances) && instances >= 1, `instances of stage ${at}`);
    check(isStable(problem, at, scale), `load of stage ${at}`);
    check(isAllowed(mode, at, scale), `mode at stage ${at}`);
  }
  const cores = plan.stages.reduce((sum, one) => sum + one.cores * one.instances, 0);
  check(cores === plan.cores, "sum of cores");
  const latencyMs = endToEndMs(problem, plan.stages);
  check(latencyMs <= problem.sloMs * (1 + 3 * ROUNDING), "the SLO");
  check(plan.latencyMs <= problem.sloMs, "the latency that is stated");
  check(Math.abs(latencyMs - plan.latencyMs) <= 1e-9 * latencyMs, "the longest path");
  return faults;
}

function isAllowed(mode: ScalingMode, at: number, { cores, instances }: TaskScale): boolean {
  if (mode.kind === "horizontal") return cores === 1;
  if (mode.kind === "sized") return cores === mode.cores[at];
  if (mode.kind === "joint") return true;
  return instances === mode.instances[at] && cores >= (mode.leastCores?.[at] ?? 1);
}

function stageAt({ stages }: ScalingProblem, at: number): ScalingProblem["stages"][number] {
  const stage = stages[at];
  if (stage === undefined) throw new RangeError(`no stage ${at}`);
  return stage;
}
