/** Themis as a method of the compiler: how many instances of how many cores each task has. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  type ScalePlan,
  type Slo,
  type ThemisBundle,
  type ThemisLevel,
  type ThemisPaceLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { missedTexts } from "stratagem-runtime/internal/describe/missed-limits";
import { percent } from "stratagem-runtime/internal/describe/text";
import {
  hasChoice,
  planAccuracy,
} from "stratagem-runtime/internal/methods/themis/core/plan-accuracy";
import { themisMissed } from "stratagem-runtime/internal/methods/themis/describe/missed";
import type { ThemisFrame } from "../../model/frames.ts";
import { hopWarnings } from "../../model/hop-warnings.ts";
import { workersByPool } from "../../model/workers-by-pool.ts";
import { scalingWarnings } from "../../simulate/graph/scaling-steps.ts";
import type { Application, ThemisPolicy } from "../../spec/application.ts";
import { costFigure, type LevelPromises } from "../level-promises.ts";
import type { CompilerMethodOf } from "../method.ts";
import { isPipelineBaseline } from "../pipeline-baselines.ts";
import { planPaces } from "../plan-paces.ts";
import { refuseTableOptions } from "../table-options.ts";
import { THEMIS_BASELINES } from "./baselines.ts";
import { pacedFrame, planningFrame } from "./planning-frame.ts";
import { followedExpectation, servedExpectation, servedLevel } from "./served-level.ts";
import { haveBatchQuantiles } from "./simulate/drawn-batch-times.ts";
import { simulateThemis } from "./simulate/simulate.ts";
import { themis } from "./solve/themis.ts";
import type { ScaledLoad } from "./solve/transitions.ts";

export const themisMethod = {
  name: "themis",

  mistakes: themis.mistakes,
  withSolver(_policy, solver) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "--solver: policy.solver sets the solver of method themis, exact or paper, " +
        `got ${solver}; leave the option out`,
    );
  },
  frame: themis.frame,

  isQuick: true,
  async solveLevel(frame, loadQps) {
    if (frame.cluster.serving === undefined) return { level: scalerOf(frame).scaleLevel(loadQps) };
    return { level: await servedLevel(frame, loadQps, scalerOf) };
  },
  bundle(frame, levels, provenance) {
    // However many plans run side by side, no more cores contend than exist.
    const planned = planningFrame(frame, frame.cluster.serving?.stretch ?? 1);
    const plans = paceLevelsOf(planned, levels);
    const profiled = plans.map((plan) => plan.profiled);
    const transitions = scalerOf(planned).transitions([...levels, ...profiled]);
    const paced = plans.length === 0 ? {} : { paceLevels: plans.map(({ level }) => level) };
    return { ...frame, transitions, levels, ...paced, provenance };
  },
  scales: true,
  plannedWorkers: ({ cluster, tasks }, { steady }) => {
    return workersByPool(
      cluster,
      steady.stages.map(({ instances, variant = 0 }, task) => {
        return { pool: tasks[task]?.variants[variant]?.pool ?? 0, replicas: instances };
      }),
    );
  },

  frameOf({ levels: _, paceLevels: __, provenance: ___, transitions: ____, ...frame }) {
    return frame;
  },
  paces: planPaces<ThemisBundle, ThemisFrame>({
    hasQuantiles: ({ tasks }) => haveBatchQuantiles(tasks),
    startMs: ({ policy }) => policy.coldStartMs,
    simulate(bundle, run) {
      const asked = { ...run, withLatencies: true };
      const { latencyMsByRequest: latenciesMs, ...outcome } = simulateThemis(bundle, asked);
      return { ...outcome, latenciesMs };
    },
    stating(level, promises) {
      const { steady } = level;
      return { ...level, steady: { ...steady, expected: { ...steady.expected, ...promises } } };
    },
  }),
  promises: themisPromises,
  worstViolationRate: ({ steady }) => steady.expected.violationRate,
  stated: ({ horizontal, vertical, joint, steady }) => ({ horizontal, vertical, joint, steady }),
  promised(frame, bundle, index) {
    const level = levelAt(bundle.levels, index);
    const isServed = frame.cluster.serving !== undefined;
    const own = isServed ? servedExpectation(frame, level) : themis.expectedOf(frame, level);
    const expected = followedExpectation(bundle, level);
    return { ...level, ...own, steady: { ...own.steady, expected } };
  },

  batchFacts({ tasks, levels }, { task, variant, batch, level }) {
    const index = tasks.findIndex(({ name }) => name === task);
    const stage = level === null ? undefined : levels[level]?.steady.stages[index];
    const own = tasks[index]?.variants[stage?.variant ?? 0];
    // The log does not state the cores of an instance; assumes those of its level's plan, if that
    // has the variant.
    const isOwn = own !== undefined && (variant === own.name || variant.startsWith(`${own.name}@`));
    const cores = isOwn ? stage?.cores : undefined;
    const { data, shape } = own?.latency.ms ?? {};
    const maxBatch = shape?.[1] ?? 0;
    const known = cores !== undefined && batch <= maxBatch;
    const decisionMs = known ? data?.[(cores - 1) * maxBatch + batch - 1] : undefined;
    if (decisionMs === undefined) return { profiled: null, state: null, rule: null };
    const rule = `its level plans ${cores === 1 ? "1 core" : `${cores} cores`} for an instance`;
    return {
      profiled: { p50Ms: null, p95Ms: null, p99Ms: null, decisionMs },
      state: null,
      rule,
    };
  },
  baselines: {
    of: "scaled stages",
    isOfPipelines: true,
    names: THEMIS_BASELINES,
    tunable: true,
    has: (text, tuned) => isPipelineBaseline(THEMIS_BASELINES, text, tuned),
  },
  profiled: "cores",
  hasServiceTimeQuantiles: ({ tasks }) => haveBatchQuantiles(tasks),
  async simulate(bundle, { baseline, ...options }, watch) {
    const { simulateThemisCommand } = await import("./simulate-command.ts");
    return simulateThemisCommand(bundle, options, baseline, watch);
  },

  warnings: themisWarnings,
  async report(bundle, asked) {
    refuseTableOptions(asked, "plans");
    const { reportThemis } = await import("./report-command.ts");
    return reportThemis(bundle, asked);
  },
} satisfies CompilerMethodOf<"themis">;

const scalers = new WeakMap<ThemisFrame, ReturnType<typeof themis.open>>();

/** Caches the scaler of a frame, and with it the results of earlier levels. */
function scalerOf(frame: ThemisFrame): ReturnType<typeof themis.open> {
  const known = scalers.get(frame) ?? themis.open(frame);
  scalers.set(frame, known);
  return known;
}

function themisPromises(bundle: ThemisBundle, level: ThemisLevel): LevelPromises {
  const { loadQps, feasible, steady } = level;
  const { cores, stages, expected } = steady;
  const { pools } = bundle.cluster;
  // Prices are per worker, and plans take cores of workers.
  const machines = pools.map((pool, index) => {
    const held = stages.map((stage, task) => {
      const own = bundle.tasks[task]?.variants[stage.variant ?? 0]?.pool ?? 0;
      return own === index ? stage.cores * stage.instances : 0;
    });
    return held.reduce((sum, one) => sum + one, 0) / (pool.cores ?? 1);
  });
  const { tasks } = bundle;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : themisMissed(bundle, level),
    figures: {
      ...(hasChoice(tasks) ? { accuracy: planAccuracy(tasks, stages) } : {}),
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      workers: stages.reduce((sum, { instances }) => sum + instances, 0),
      cores: expected.cores ?? cores,
      ...(expected.costPerHour === undefined
        ? costFigure(pools, machines)
        : { cost: expected.costPerHour }),
    },
    sample: { queries: expected.requests },
    classes: [],
    buckets: [],
  };
}

/** @param application with its autoscaler, if the spec names one. */
function themisWarnings(bundle: ThemisBundle, application: Application<ThemisPolicy>): string[] {
  const { scalerDelay } = application.policy;
  const steps = scalingWarnings(bundle, scalerDelay, (options) => simulateThemis(bundle, options));
  return [...levelWarnings(bundle), ...steps, ...hopWarnings(application, false)];
}

function levelWarnings(bundle: ThemisBundle): string[] {
  const { levels, slo, policy } = bundle;
  const ceiling = violationCeiling(slo);
  const advice = policy.queueing === "paper" ? "; policy.queueing: stochastic allows for them" : "";
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, steady } = level;
    if (!feasible) {
      const missed = missedTexts(themisMissed(bundle, level));
      return (
        `level ${loadQps} qps is not feasible: ${missed}; the pool carries up to about ` +
        `${Number(capacityQps.toPrecision(3))} qps, so it has the plan for that`
      );
    }
    const { violationRate } = steady.expected;
    if (violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(violationRate)} of random requests miss the SLO, allowed ` +
      `${percent(ceiling)}${advice}`
    );
  });
}

/** Paces that plans are made for; those between them follow plans for the next load. */
const PACES = [1.3, 1.75, 2.5];
/** Ratio of the loads of adjacent pace levels, as a machine as profiled would carry them. */
const STEP = 1.1;

/** A level for a slower machine, and its equivalent for a machine as profiled. */
interface PacedPlan {
  readonly level: ThemisPaceLevel;
  readonly profiled: ScaledLoad;
}

/**
 * Plans beyond the highest level: a machine of pace ξ must carry a load times ξ, and answer within
 * the SLO over ξ. A level is left out if the next one has the same plan and also keeps the ceiling;
 * the first that the pools cannot carry is the last.
 * @param frame as planners see it.
 */
function paceLevelsOf(frame: ThemisFrame, levels: readonly ThemisLevel[]): PacedPlan[] {
  const top = levels.at(-1);
  if (top === undefined) return [];
  const scalers = PACES.map((pace) => ({ pace, scaler: themis.open(pacedFrame(frame, pace)) }));
  const found: PacedPlan[] = [];
  const mostQps = top.loadQps * Math.max(...PACES);
  for (let qps = top.loadQps * STEP; qps <= mostQps; qps *= STEP) {
    // The fastest machine that must carry this much at a load of the levels.
    const paced = scalers.find(({ pace }) => qps / pace <= top.loadQps);
    if (paced === undefined || !themis.isServable(pacedFrame(frame, paced.pace))) break;
    const { loadQps, capacityQps, steady, solve } = paced.scaler.scaleLevel(qps / paced.pace);
    const before = found.at(-1);
    if (before !== undefined && isLike(before.level, steady, frame.slo)) found.pop();
    const level = { pace: paced.pace, loadQps, capacityQps, steady };
    found.push({ level, profiled: { loadQps: loadQps * paced.pace, steady, solve } });
    if (capacityQps < loadQps) break;
  }
  return found;
}

function isLike({ steady }: ThemisPaceLevel, other: ScalePlan, slo: Slo): boolean {
  const keeps = ({ expected }: ScalePlan) => expected.violationRate <= violationCeiling(slo);
  const isSamePlan = JSON.stringify(steady.stages) === JSON.stringify(other.stages);
  return isSamePlan && keeps(steady) === keeps(other);
}
