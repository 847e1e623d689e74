/** Loki as a method of the compiler: which variants run on how many servers of a pipeline. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  type LokiBundle,
  type LokiLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { missedTexts } from "stratagem-runtime/internal/describe/missed-limits";
import { percent } from "stratagem-runtime/internal/describe/text";
import { lokiMissed } from "stratagem-runtime/internal/methods/loki/describe/missed";
import { pooledBatchFacts } from "../../graph/batch-facts.ts";
import type { LokiFrame } from "../../model/frames.ts";
import { hopWarnings } from "../../model/hop-warnings.ts";
import type { PipelineProblem } from "../../model/pipeline.ts";
import { workersByPool } from "../../model/workers-by-pool.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import { settledPlan } from "../../simulate/serving/planned-contention.ts";
import type { Application } from "../../spec/application.ts";
import { type LevelPromises, workerFigures } from "../level-promises.ts";
import type { CompilerMethodOf, LevelGap, Settle, Solved, SolvedLevel } from "../method.ts";
import { refuseTableOptions, refuseTraces } from "../table-options.ts";
import { lokiPaces, PROMISE_PART } from "./paces.ts";
import { frameOfPlan, isServable, longestPath, planningFrame } from "./planning-frame.ts";
import { quickerBatches } from "./quicker-batches.ts";
import { predictLevel, simulatedExpectation } from "./simulated-level.ts";
import { baselinePlan, PIPELINE_BASELINES } from "./solve/baseline-plan.ts";
import { solverPlan } from "./solve/bundled-plan.ts";
import { loki, type PlannedLevel } from "./solve/loki.ts";
import { modelLoads } from "./solve/plan/nearest-plan.ts";
import { pipelineProblem } from "./solve/problem.ts";
import type { TaskSolver } from "./task-policies.ts";

/** @param taskSolver makes the tables of tasks that choose their variants batch by batch. */
export function lokiMethod(taskSolver: TaskSolver): CompilerMethodOf<"loki"> {
  return {
    name: "loki",

    mistakes: loki.mistakes,
    withSolver(policy, solver) {
      if (solver !== "value-iteration") return { ...policy, solver };
      throw new RuntimeError(
        "RUNTIME_USAGE",
        `--solver: expected auto, glpk or highs for method loki, got ${solver}`,
      );
    },
    frame: loki.frame,

    isQuick: false,
    solveLevel: (frame, loadQps, nowMs) => plannedLevel(taskSolver, frame, loadQps, nowMs),
    afterLevels: settleLevels,
    async settle(frame, level, neighbour) {
      const planned = frameOfPlan(frame, level.loadQps, level.plan);
      const plan = await loki.settle(planned, level, neighbour);
      const isSame = JSON.stringify(plan) === JSON.stringify(level.plan);
      if (isSame) return level;
      const settled = predictLevel(taskSolver, frame, planned, { ...level, plan });
      return quickerBatches(frame, planned, settled);
    },
    gapOf: lokiGap,
    paces: lokiPaces,
    plannedWorkers: ({ cluster }, { plan }) => workersByPool(cluster, plan.instances),

    promises: lokiPromises,
    worstViolationRate: ({ expected }) => expected.violationRate,
    stated: ({ expected }) => expected,
    promised(_frame, bundle, index) {
      const level = levelAt(bundle.levels, index);
      return { ...level, expected: simulatedExpectation(bundle, bundle, level.loadQps) };
    },

    batchFacts: pooledBatchFacts,
    baselines: {
      of: "a pipeline",
      isOfPipelines: true,
      names: PIPELINE_BASELINES,
      tunable: false,
      has: (text) => PIPELINE_BASELINES.some((name) => name === text),
    },
    baselineLevel(frame, level, baseline) {
      const known = PIPELINE_BASELINES.find((name) => name === baseline);
      const plan = known === undefined ? null : baselinePlan(frame, known, level.loadQps);
      return plan && { ...level, plan, stages: null };
    },
    hasServiceTimeQuantiles: ({ tasks }) => havePipelineQuantiles(tasks),
    async simulate(bundle, asked, watch) {
      const { simulateLokiCommand } = await import("./simulate-command.ts");
      return simulateLokiCommand(bundle, asked, watch);
    },

    warnings: planWarnings,
    async report(bundle, asked) {
      refuseTableOptions(asked, "plans");
      refuseTraces(asked, "plans");
      const { renderLokiReport } = await import("./report/report.ts");
      return { page: renderLokiReport({ bundle, file: asked.file }) };
    },
  };
}

/** Headrooms to try with `headroom: auto`, smallest first. */
const HEADROOMS = [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2];

/** The reported time is that of the last optimisation, without the simulation after it. */
async function plannedLevel(
  taskSolver: TaskSolver,
  frame: LokiFrame,
  loadQps: number,
  nowMs: () => number,
): Promise<Solved<LokiLevel>> {
  const { headroom } = frame.policy;
  const ceiling = violationCeiling(frame.slo);
  let best: LokiLevel | null = null;
  let solveMs = Number.NaN;
  for (const room of headroom === "auto" ? HEADROOMS : [headroom]) {
    const startMs = nowMs();
    const planned = await settledPlan(
      frame.cluster,
      { loadQps, batches: longestPath(frame) },
      (stretch) => planAt(planningFrame(frame, stretch), loadQps, room, stretch),
      ({ plan }) => plan.servers,
    );
    solveMs = nowMs() - startMs;
    const planFrame = frameOfPlan(frame, loadQps, planned.plan);
    const level = predictLevel(taskSolver, frame, planFrame, planned);
    const { violationRate } = level.expected;
    if (best === null || violationRate < best.expected.violationRate) best = level;
    // More headroom than the capacity changes nothing.
    const isAtCapacity = planned.plan.demandQps < loadQps * (1 + room) * (1 - 1e-9);
    if (violationRate <= ceiling || isAtCapacity) break;
  }
  if (best === null) throw new RangeError("no headroom was tried");
  const planFrame = frameOfPlan(frame, loadQps, best.plan);
  return { level: quickerBatches(frame, planFrame, best), solveMs };
}

/** Null if stretched times leave no plan for any load. */
async function planAt(
  frame: LokiFrame,
  loadQps: number,
  headroom: number,
  stretch: number,
): Promise<PlannedLevel | null> {
  if (stretch > 1 && !isServable(frame)) return null;
  return loki.planLevel(frame, loadQps, headroom);
}

/** Neighbours may differ by this part of the servers of the larger plan, or by one server. */
const SERVER_STEP = 0.2;

/** Compares the accuracy of the plans, not that of their simulation. */
function lokiGap({ plan: a }: LokiLevel, { plan: b }: LokiLevel): LevelGap {
  const allowed = Math.max(1, Math.floor(SERVER_STEP * Math.max(a.servers, b.servers)));
  return {
    accuracy: Math.abs(a.accuracy - b.accuracy),
    otherSteps: Math.abs(a.servers - b.servers) / (allowed + 0.5),
  };
}

function lokiPromises(bundle: LokiBundle, level: LokiLevel): LevelPromises {
  const { loadQps, feasible, expected, plan } = level;
  const { pools } = bundle.cluster;
  const workers = pools.map((_, pool) => {
    const own = plan.instances.filter((instance) => instance.pool === pool);
    return own.reduce((sum, { replicas }) => sum + replicas, 0);
  });
  // An accuracy of a path is at most that of any variant on it, or is stated.
  const accuracies = [
    ...bundle.tasks.flatMap(({ variants }) => variants.map(({ accuracy }) => accuracy)),
    ...bundle.leaves.flatMap(({ accuracyByPath }) => [...(accuracyByPath?.data ?? [])]),
  ];
  const bestAccuracy = accuracies.reduce((best, one) => Math.max(best, one), 0);
  const queries = (loadQps * expected.durationMs) / 1000;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : lokiMissed(bundle, level),
    sample: { queries, bestAccuracy },
    paceSample: { queries: PROMISE_PART * queries, bestAccuracy },
    figures: {
      violations: expected.violationRate,
      accuracy: expected.accuracyPerSatisfied,
      accuracyPerQuery: expected.accuracyPerQuery,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      ...workerFigures(pools, workers),
    },
    classes: [],
    buckets: [],
  };
}

/** @param application whose plans they are. */
function planWarnings(
  bundle: LokiBundle,
  application: Pick<Application, "cluster" | "tasks">,
): string[] {
  return [...levelWarnings(bundle), ...hopWarnings(application, false)];
}

function levelWarnings(bundle: LokiBundle): string[] {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    if (!feasible) {
      return (
        `level ${loadQps} qps is not feasible: ${missedTexts(lokiMissed(bundle, level))}; ` +
        `it uses the plan for the capacity of ${Math.floor(capacityQps)} qps, and the excess ` +
        `is shed`
      );
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the ` +
      `SLO in the simulation, allowed ${percent(ceiling)}; the plan has too little headroom ` +
      `for queues`
    );
  });
}

/**
 * Settles each level, from the lowest up, against the one below; then records the cost of changing
 * to each level.
 */
async function settleLevels(
  frame: LokiFrame,
  solved: readonly SolvedLevel<LokiLevel>[],
  settle: Settle<LokiLevel>,
): Promise<SolvedLevel<LokiLevel>[]> {
  const levels: LokiLevel[] = [];
  for (const { level: own } of solved) {
    const below = levels.at(-1);
    levels.push(below === undefined ? own : await settle(own, below));
  }
  const problem = pipelineProblem(frame);
  return levels.map((level, index) => ({
    ms: solved[index]?.ms ?? 0,
    level: {
      ...level,
      transition: {
        modelLoadsFromBelow: loadsFrom(problem, levels[index - 1], level),
        modelLoadsFromAbove: loadsFrom(problem, levels[index + 1], level),
      },
    },
  }));
}

function loadsFrom(
  problem: PipelineProblem,
  from: LokiLevel | undefined,
  to: LokiLevel,
): number | null {
  if (from === undefined) return null;
  return modelLoads(problem, solverPlan(problem, from.plan), solverPlan(problem, to.plan));
}
