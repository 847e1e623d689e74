/** Themis as a method of the compiler: how many instances of how many cores each task has. */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import type { ThemisFrame } from "../../model/frames.ts";
import { modelFitMistakes } from "../../model/model-fit.ts";
import { workersByPool } from "../../model/workers-by-pool.ts";
import type { CompilerMethodOf } from "../method.ts";
import { isPipelineBaseline } from "../pipeline-baselines.ts";
import { planPaces } from "../plan-paces.ts";
import { refuseTableOptions } from "../table-options.ts";
import { THEMIS_BASELINES } from "./baselines.ts";
import { paceLevelsOf } from "./pace-levels.ts";
import { planningFrame } from "./planning-frame.ts";
import { themisPromises } from "./promises.ts";
import { followedExpectation, servedExpectation, servedLevel } from "./served-level.ts";
import { haveBatchQuantiles } from "./simulate/drawn-batch-times.ts";
import { simulateThemis } from "./simulate/simulate.ts";
import { themis } from "./solve/themis.ts";
import { themisWarnings } from "./warnings.ts";

export const themisMethod: CompilerMethodOf<"themis"> = {
  name: "themis",

  mistakes: themis.mistakes,
  feeds: "every edge",
  modelMistakes: (application, models) => modelFitMistakes(application, models, "every edge"),
  withSolver(_policy, solver) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "--solver: policy.solver says how method themis solves, exact or paper, " +
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
    // Whatever plans there are side by side, no more cores contend than there are.
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
      const { accuracyPerSatisfied, latencyMsByRequest } = simulateThemis(bundle, asked);
      return { accuracyPerSatisfied, latenciesMs: latencyMsByRequest };
    },
    stating(level, promises) {
      const { steady } = level;
      return { ...level, steady: { ...steady, expected: { ...steady.expected, ...promises } } };
    },
  }),
  promises: themisPromises,
  worstViolationRate: ({ steady }) => steady.expected.violationRate,
  withLevels: (bundle, levels) => ({ ...bundle, levels }),
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
    // The log does not say how many cores an instance had; those of its level's plan count, where
    // that has the variant.
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
};

const scalers = new WeakMap<ThemisFrame, ReturnType<typeof themis.open>>();

/** Keeps the scaler of a frame, so that what it found for one level it need not look for again. */
function scalerOf(frame: ThemisFrame): ReturnType<typeof themis.open> {
  const known = scalers.get(frame) ?? themis.open(frame);
  scalers.set(frame, known);
  return known;
}
