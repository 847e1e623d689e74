/** InferLine as a method of the compiler: how many replicas each task of a pipeline has. */

import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import { pooledBatchFacts } from "../../graph/batch-facts.ts";
import type { InferlineFrame } from "../../model/frames.ts";
import { modelFitMistakes } from "../../model/model-fit.ts";
import { workersByPool } from "../../model/workers-by-pool.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import type { CompilerMethodOf } from "../method.ts";
import { isPipelineBaseline } from "../pipeline-baselines.ts";
import { planPaces } from "../plan-paces.ts";
import { refuseTableOptions, refuseTraces } from "../table-options.ts";
import { INFERLINE_BASELINES } from "./baselines.ts";
import { inferlinePromises } from "./promises.ts";
import { inferlineOverDay } from "./simulate/over-day.ts";
import { simulateInferline } from "./simulate/simulate.ts";
import { promisedLevel, simulatedLevel } from "./simulated-level.ts";
import { inferline } from "./solve/inferline.ts";
import { hasTraces } from "./solve/sample-traces.ts";
import { dayFigures, dayText } from "./told-day.ts";
import { inferlineWarnings } from "./warnings.ts";

export const inferlineMethod: CompilerMethodOf<"inferline"> = {
  name: "inferline",

  mistakes: inferline.mistakes,
  feeds: "all edges together",
  modelMistakes(application, models) {
    return modelFitMistakes(application, models, "all edges together");
  },
  withSolver(_policy, solver) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: method inferline has one solver, got ${solver}; ` +
        "leave the option out, policy.refine says how far it goes",
    );
  },
  frame: inferline.frame,

  isQuick: false,
  dividesSearch: ({ policy, tasks }) => policy.refine === "exact" && tasks.length > 1,
  async solveLevel(frame, loadQps, _nowMs, branches) {
    return { level: await simulatedLevel(frame, loadQps, branches) };
  },
  // What only the compiler needs stays here.
  bundle: ({ recorded: _, ...frame }, levels, provenance) => ({ ...frame, levels, provenance }),
  scales: true,
  plannedWorkers: ({ cluster }, { plan }) => workersByPool(cluster, plan.stages),

  frameOf: ({ levels: _, provenance: __, ...frame }) => ({ ...frame, recorded: null }),
  isRecomputable: hasTraces,
  paces: planPaces<InferlineBundle, InferlineFrame>({
    hasQuantiles: ({ tasks }) => havePipelineQuantiles(tasks),
    startMs: ({ policy }) => policy.activationMs,
    simulate(bundle, run) {
      const asked = { ...run, withLatencies: true };
      const { accuracyPerSatisfied, latencyMsByRequest } = simulateInferline(bundle, asked);
      return { accuracyPerSatisfied, latenciesMs: latencyMsByRequest };
    },
    stating: (level, promises) => ({ ...level, expected: { ...level.expected, ...promises } }),
  }),
  promises: inferlinePromises,
  worstViolationRate: ({ expected }) => expected.violationRate,
  withLevels: (bundle, levels) => ({ ...bundle, levels }),
  stated: ({ sample, expected }) => ({ sample, expected }),
  promised: (frame, bundle, index) => promisedLevel(frame, bundle, levelAt(bundle.levels, index)),

  batchFacts: pooledBatchFacts,
  baselines: {
    of: "provisioned stages",
    isOfPipelines: true,
    names: INFERLINE_BASELINES,
    tunable: true,
    has: (text, tuned) => isPipelineBaseline(INFERLINE_BASELINES, text, tuned),
  },
  hasServiceTimeQuantiles: ({ tasks }) => havePipelineQuantiles(tasks),
  async simulate(bundle, { baseline, ...options }, watch) {
    const { simulateInferlineCommand } = await import("./simulate-command.ts");
    return simulateInferlineCommand(bundle, options, baseline, watch);
  },

  warnings: inferlineWarnings,
  overDay(bundle, { day = null }) {
    const outcome = inferlineOverDay(bundle, day);
    return outcome === null ? null : { text: dayText(outcome), json: dayFigures(outcome) };
  },
  async report(bundle, asked) {
    refuseTableOptions({ ...asked, simulations: [] }, "plans");
    refuseTraces(asked, "plans");
    const { renderInferlineReport } = await import("./report/report.ts");
    const { readDayRun } = await import("./report/simulation-file.ts");
    const days = asked.simulations.map(readDayRun);
    return { page: renderInferlineReport({ bundle, file: asked.file, days }) };
  },
};
