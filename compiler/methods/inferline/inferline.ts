/** InferLine as a method of the compiler: how many replicas each task of a pipeline has. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  type InferlineBundle,
  type InferlineLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { missedTexts } from "stratagem-runtime/internal/describe/missed-limits";
import { percent, short } from "stratagem-runtime/internal/describe/text";
import { inferlineMissed } from "stratagem-runtime/internal/methods/inferline/describe/missed";
import { pooledBatchFacts } from "../../graph/batch-facts.ts";
import type { InferlineFrame } from "../../model/frames.ts";
import { hopWarnings } from "../../model/hop-warnings.ts";
import { modelFitMistakes } from "../../model/model-fit.ts";
import { workersByPool } from "../../model/workers-by-pool.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import { scalingWarnings } from "../../simulate/graph/scaling-steps.ts";
import type { Application, InferlinePolicy } from "../../spec/application.ts";
import type { LevelPromises } from "../level-promises.ts";
import type { CompilerMethodOf } from "../method.ts";
import { isPipelineBaseline } from "../pipeline-baselines.ts";
import { planPaces } from "../plan-paces.ts";
import { refuseTableOptions, refuseTraces } from "../table-options.ts";
import { INFERLINE_BASELINES } from "./baselines.ts";
import { type DayOutcome, inferlineOverDay } from "./simulate/over-day.ts";
import { simulateInferline } from "./simulate/simulate.ts";
import { promisedLevel, simulatedLevel } from "./simulated-level.ts";
import { inferline } from "./solve/inferline.ts";
import { hasTraces } from "./solve/sample-traces.ts";

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
        "leave the option out; policy.refine sets how far it searches",
    );
  },
  frame: inferline.frame,

  isQuick: false,
  dividesSearch: ({ policy, tasks }) => policy.refine === "exact" && tasks.length > 1,
  async solveLevel(frame, loadQps, _nowMs, branches) {
    return { level: await simulatedLevel(frame, loadQps, branches) };
  },
  // The recorded trace stays in the compiler.
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
      const { latencyMsByRequest: latenciesMs, ...outcome } = simulateInferline(bundle, asked);
      return { ...outcome, latenciesMs };
    },
    stating: (level, promises) => ({ ...level, expected: { ...level.expected, ...promises } }),
  }),
  promises: inferlinePromises,
  worstViolationRate: ({ expected }) => expected.violationRate,
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
  costsOverDay: true,
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

function inferlinePromises(bundle: InferlineBundle, level: InferlineLevel): LevelPromises {
  const { loadQps, feasible, expected, plan } = level;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : inferlineMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      cost: expected.costPerHour,
      workers: plan.stages.reduce((sum, { replicas }) => sum + replicas, 0),
    },
    sample: { queries: (loadQps * expected.durationMs) / 1000 },
    classes: [],
    buckets: [],
  };
}

/** A line for `compile`. */
function dayText({ of, followed, peak, plannedCostPerHour }: DayOutcome): string {
  const worst = percent(followed.worstMinuteViolationRate);
  return (
    `over a day (${of}): ${short(followed.costPerHour)} an hour, ` +
    `${percent(followed.violationRate)} late, ${worst} in the worst minute; the plans for each ` +
    `minute's load ${short(plannedCostPerHour)}, that for the highest load all day ` +
    `${short(peak.costPerHour)}`
  );
}

/** The same for `compile --json`. */
function dayFigures({ of, durationMs, followed, peak, plannedCostPerHour }: DayOutcome) {
  const { minutes, ...own } = followed;
  return {
    of,
    durationMs,
    ...own,
    minutes,
    plannedCostPerHour,
    peak: { costPerHour: peak.costPerHour, violationRate: peak.violationRate },
  };
}

/** A lower share of held-out traces gives a warning that suggests a margin. */
const FEW_MET = 0.95;

/** @param application with its autoscaler, if the spec names one. */
function inferlineWarnings(
  bundle: InferlineBundle,
  application: Application<InferlinePolicy>,
): string[] {
  const { scalerDelay } = application.policy;
  const steps = scalingWarnings(bundle, scalerDelay, (options) => {
    return simulateInferline(bundle, options);
  });
  return [...levelWarnings(bundle), ...steps, ...hopWarnings(application, false)];
}

function levelWarnings(bundle: InferlineBundle): string[] {
  const { levels, slo, policy } = bundle;
  const ceiling = violationCeiling(slo);
  const advice = policy.margin === "auto" ? "" : "; policy.margin: auto leaves room for them";
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    if (!feasible) {
      const missed = missedTexts(inferlineMissed(bundle, level));
      return (
        `level ${loadQps} qps is not feasible: ${missed}; the pools carry up to about ` +
        `${Math.floor(capacityQps)} qps, so it has the plan for that`
      );
    }
    const { traces, met } = expected.heldOut;
    if (met < FEW_MET * traces) {
      return `level ${loadQps} qps: ${met} of ${traces} held-out traces meet the SLO${advice}`;
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the ` +
      `SLO in the simulation, allowed ${percent(ceiling)}`
    );
  });
}
