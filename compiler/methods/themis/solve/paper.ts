/**
 * The paper's dynamic programmes over integer milliseconds, for comparison. Source: Themis
 * Algorithms 1 (vertical) and 2 (horizontal).
 *
 * They differ from the print where it is wrong: an option is skipped if its instances do not carry
 * the load or it ends after the SLO; instances are rounded up; the first task, too, keeps the
 * cheaper of two options; throughput is by processing alone; instances count in the cost. Latencies
 * are rounded up and the SLO down, so that an answer holds in real arithmetic; the authors' code
 * rounds latencies down.
 */
import assert from "node:assert/strict";
import { assertProblem, bindingOf } from "./exact.ts";
import type { NoScalingPlan, ScalingPlan, ScalingProblem, TaskScale } from "./problem.ts";
import {
  carries,
  leastInstances,
  limitsOf,
  type ScalingMode,
  throughputQps,
} from "./task-options.ts";

/** The paper has no joint scaling. */
export type PaperMode = Exclude<ScalingMode, { readonly kind: "joint" }>;

interface Option extends TaskScale {
  /** Cores of all instances. */
  readonly totalCores: number;
  readonly latencyMs: number;
  readonly wholeMs: number;
}

/**
 * Fewest cores first, then fewest integer milliseconds; of equal options the earlier one.
 * @throws AssertionError unless the tasks are a chain.
 */
export function solveAsPaper(
  problem: ScalingProblem,
  mode: PaperMode,
): ScalingPlan | NoScalingPlan {
  const { loadQps, sloMs, stages } = problem;
  assertProblem(problem);
  assert(loadQps > 0 && loadQps < Number.POSITIVE_INFINITY, "a load is above 0");
  assert(
    stages.every(
      ({ parents }, at) => parents.length === Math.min(at, 1) && (parents[0] ?? -1) === at - 1,
    ),
    "the paper's programmes take a chain",
  );
  const options = stages.map((_, at) => optionsOf(problem, mode, at));
  const wholeSloMs = Math.floor(sloMs);
  const size = wholeSloMs + 1;
  let fewest = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
  fewest[0] = 0;
  const choices: Int32Array[] = [];
  for (const ways of options) {
    const choice = new Int32Array(size).fill(-1);
    fewest = nextStage(ways, fewest, choice);
    choices.push(choice);
  }
  const cores = fewest.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);
  if (cores === Number.POSITIVE_INFINITY) return noPlan(problem, options);
  return planAt(fewest.indexOf(cores), cores, choices, options);
}

/**
 * @param fewest by integer milliseconds used so far: fewest cores.
 * @param choice filled by milliseconds used after the task: index of the option.
 */
function nextStage(
  ways: readonly Option[],
  fewest: Float64Array,
  choice: Int32Array,
): Float64Array<ArrayBuffer> {
  const next = new Float64Array(fewest.length).fill(Number.POSITIVE_INFINITY);
  for (const [index, { totalCores, wholeMs }] of ways.entries()) {
    for (let usedMs = 0; usedMs + wholeMs < fewest.length; usedMs++) {
      const cores = (fewest[usedMs] as number) + totalCores;
      if (cores >= (next[usedMs + wholeMs] as number)) continue;
      next[usedMs + wholeMs] = cores;
      choice[usedMs + wholeMs] = index;
    }
  }
  return next;
}

function planAt(
  endMs: number,
  cores: number,
  choices: readonly Int32Array[],
  options: readonly (readonly Option[])[],
): ScalingPlan {
  const chosen: Option[] = [];
  let usedMs = endMs;
  for (let at = choices.length - 1; at >= 0; at--) {
    const option = options[at]?.[choices[at]?.[usedMs] ?? -1];
    assert(option !== undefined, "every stage of an answer was chosen");
    chosen.unshift(option);
    usedMs -= option.wholeMs;
  }
  return {
    cores,
    cost: cores,
    latencyMs: chosen.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
    stages: chosen.map(({ batch, cores: each, instances }) => ({ batch, cores: each, instances })),
  };
}

/** Options with the paper's queueing, (b - 1) / lambda. */
function optionsOf(
  { loadQps, hopMs, stages }: ScalingProblem,
  mode: PaperMode,
  at: number,
): readonly Option[] {
  const stage = stages[at];
  assert(stage !== undefined, "a stage of the problem");
  const { leastCores, mostCores, instances: given } = limitsOf(mode, stage, at);
  const stageQps = loadQps * stage.scale;
  const options: Option[] = [];
  for (let cores = leastCores; cores <= mostCores; cores++) {
    for (let batch = 1; batch <= stage.maxBatch; batch++) {
      const processingMs = stage.latencyMs[(cores - 1) * stage.maxBatch + batch - 1] ?? 0;
      if (processingMs === Number.POSITIVE_INFINITY) continue;
      const capacityQps = throughputQps(batch, processingMs);
      const instances = given ?? leastInstances(capacityQps, stageQps);
      if (!carries(instances, capacityQps, stageQps)) continue;
      const latencyMs = hopMs + processingMs + (1000 * (batch - 1)) / stageQps;
      const totalCores = instances * cores;
      options.push({
        batch,
        cores,
        instances,
        totalCores,
        latencyMs,
        wholeMs: Math.ceil(latencyMs),
      });
    }
  }
  return options;
}

/** Uses integer milliseconds, like the programmes. */
function noPlan(
  { stages }: ScalingProblem,
  options: readonly (readonly Option[])[],
): NoScalingPlan {
  const leastMs = Float64Array.from(options, (ways) =>
    ways.reduce((least, { wholeMs }) => Math.min(least, wholeMs), Number.POSITIVE_INFINITY),
  );
  const overloaded = leastMs.indexOf(Number.POSITIVE_INFINITY);
  if (overloaded < 0) return bindingOf(stages, leastMs);
  return { bindingStage: overloaded, leastLatencyMs: Number.POSITIVE_INFINITY };
}
