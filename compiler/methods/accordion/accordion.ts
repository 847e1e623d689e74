/**
 * Accordion as a method of the compiler: how models are cut into pipelines over execution places.
 */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type {
  AccordionBundle,
  AccordionLevel,
  Pool,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { explainedTable, short } from "stratagem-runtime/internal/describe/text";
import { accordionMissed } from "stratagem-runtime/internal/methods/accordion/describe/missed";
import { depthViews } from "stratagem-runtime/internal/methods/accordion/describe/plan-view";
import type { AccordionFrame } from "../../model/frames.ts";
import type { AccordionPolicy } from "../../spec/application.ts";
import { invalid } from "../../spec/document/mistakes.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { type LevelPromises, workerFigures } from "../level-promises.ts";
import type { CompilerMethodOf, ModelProber, OpenedModels } from "../method.ts";
import { planPaces } from "../plan-paces.ts";
import { refuseTableOptions, refuseTraces } from "../table-options.ts";
import { ACCORDION_BASELINES } from "./baselines.ts";
import { haveStageSpreads } from "./simulate/drawn-instance-times.ts";
import { drawQueries } from "./simulate/queries.ts";
import { simulateAccordion } from "./simulate/simulate.ts";
import { simulatedLevel } from "./simulated-level.ts";
import { accordionFrame } from "./solve/frame.ts";
import { accordionMistakes, layerCountMistakes } from "./solve/mistakes.ts";
import { isCut, type LayeredModel, withStages } from "./stage-models.ts";
import { accordionWarnings } from "./warnings.ts";

export const accordionMethod: CompilerMethodOf<"accordion"> = {
  name: "accordion",
  servesWhole: true,

  mistakes: accordionMistakes,
  feeds: null,
  // Clients name the model, so models need not have the same tensors.
  modelMistakes: () => [],
  openModels,
  withSolver(_policy, solver) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "--solver: method accordion has one solver, whose partitions are exact, " +
        `got ${solver}; leave the option out`,
    );
  },
  frame: accordionFrame,

  isQuick: true,
  solveLevel: (frame, loadQps) => ({ level: simulatedLevel(frame, loadQps) }),

  paces: planPaces<AccordionBundle, AccordionFrame>({
    hasQuantiles: haveStageSpreads,
    startMs: () => 0,
    simulate(bundle, run) {
      const asked = { ...run, withLatencies: true };
      const { latencyMsByQuery: latenciesMs, ...outcome } = simulateAccordion(bundle, asked);
      return { ...outcome, latenciesMs };
    },
    stating: (level, promises) => ({ ...level, expected: { ...level.expected, ...promises } }),
  }),
  promises: accordionPromises,
  worstViolationRate: ({ expected }) => expected.violationRate,
  stated: ({ capacityQps, expected }) => ({ capacityQps, expected }),
  promised: (frame, { levels }, index) => simulatedLevel(frame, levelAt(levels, index).loadQps),
  promisesAlone: true,

  batchFacts({ tasks, shapes, cluster }, { variant, batch, places, worker }) {
    const own = tasks[0]?.variants.find(({ name }) => name === variant);
    const given = places ?? (worker === null ? [] : [worker]);
    const shape = shapeOf(shapes, cluster.pools, given);
    const maxBatch = own?.latencyMs.shape[1] ?? 0;
    const found = shape < 0 || batch > maxBatch;
    const decisionMs = found ? undefined : own?.latencyMs.data[shape * maxBatch + batch - 1];
    const none = { profiled: null, state: null, rule: null };
    if (decisionMs === undefined || !Number.isFinite(decisionMs)) return none;
    const rule = `the table has ${short(decisionMs)} ms for this batch on this many places`;
    const profiled = { p50Ms: null, p95Ms: null, p99Ms: null, decisionMs };
    return { profiled, state: null, rule };
  },
  baselines: {
    of: "malleable pipelines",
    isOfPipelines: false,
    names: ACCORDION_BASELINES,
    tunable: false,
    has: (text) => ACCORDION_BASELINES.some((name) => name === text),
  },
  profiled: "layers",
  requestsOf(bundle, arrivals, durationMs, seed) {
    const { model, batch, isHigh } = drawQueries(bundle, arrivals, durationMs, seed);
    const models = bundle.tasks[0]?.variants.map(({ name }) => name) ?? [];
    return { models, model, rows: batch, priority: isHigh.map((high) => (high === 1 ? 1 : 2)) };
  },
  hasServiceTimeQuantiles: haveStageSpreads,
  async simulate(bundle, { baseline, fanout: _, ...options }, watch) {
    const { simulateAccordionCommand } = await import("./simulate-command.ts");
    return simulateAccordionCommand(bundle, options, baseline, watch);
  },

  warnings: accordionWarnings,
  tablesAround: (bundle) => ({ before: [pipelineTable(bundle)], after: [] }),
  async report(bundle, asked) {
    refuseTableOptions(asked, "malleable pipelines");
    refuseTraces(asked, "malleable pipelines");
    const { file, progress } = asked;
    const { planSchedules, runSchedules } = await import("./report/simulated-schedulers.ts");
    const { renderAccordionReport } = await import("./report/report.ts");
    const plan = planSchedules(bundle);
    const runs = await runSchedules(bundle, plan, progress(plan.length));
    const outcomes = runs.map(({ loadQps, scheduler, result }) => {
      const { timeline: _, latencyMsByQuery: __, ...outcome } = result;
      return { loadQps, scheduler, ...outcome };
    });
    return { page: renderAccordionReport({ bundle, file, runs }), runs: outcomes };
  },
};

/**
 * @param shapes as the bundle has them.
 * @param places indices of workers, over all pools.
 * @returns index of the shape; −1 if there is no such shape.
 */
function shapeOf(
  { data, shape }: Table,
  pools: readonly Pool[],
  places: readonly number[],
): number {
  let first = 0;
  const counts = pools.map(({ workers }) => {
    const end = first + workers;
    const count = places.filter((place) => place >= first && place < end).length;
    first = end;
    return count;
  });
  const [shapeCount = 0, poolCount = 0] = shape;
  for (let index = 0; index < shapeCount; index++) {
    if (counts.every((count, pool) => data[index * poolCount + pool] === count)) return index;
  }
  return -1;
}

function accordionPromises(bundle: AccordionBundle, level: AccordionLevel): LevelPromises {
  const { loadQps, feasible, expected } = level;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : accordionMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      ...workerFigures(bundle.cluster.pools, usedWorkers(bundle)),
    },
    sample: { queries: expected.queries },
    classes: [],
    buckets: [],
  };
}

/** The workers of the pools in their order, as many as there are places. */
function usedWorkers({ cluster, policy }: AccordionBundle): number[] {
  let left = policy.executionPlaces;
  return cluster.pools.map(({ workers }) => {
    const used = Math.min(workers, left);
    left -= used;
    return used;
  });
}

/** Rows to print; with several pools there can be a thousand shapes. */
const MAX_ROWS = 64;

/** One row per model and shape. */
function pipelineTable(bundle: AccordionBundle): string {
  const hasPools = bundle.cluster.pools.length > 1;
  const rows = bundle.tasks
    .flatMap(({ variants }) => variants)
    .flatMap((variant) =>
      depthViews(bundle, variant).map((depth) => [
        variant.name,
        String(depth.executionPlaces),
        ...(hasPools ? [depth.pools.join(", ")] : []),
        listed(depth.cut, String),
        listed(depth.stageMs, rounded),
        rounded(depth.latencyMs),
        depth.speedup.toFixed(2),
      ]),
    );
  const head = ["model", "places", ...(hasPools ? ["pools"] : [])];
  const titles = [...head, "layers", "stage ms", "ms of 1 instance", "speed-up"];
  const more = rows.length - MAX_ROWS;
  return [
    explainedTable([titles, ...rows.slice(0, MAX_ROWS)]),
    ...(more > 0 ? [`and ${more} more rows; inspect lists all`] : []),
  ].join("\n");
}

function listed(values: readonly number[], text: (value: number) => string): string {
  return values.length === 0 ? "-" : values.map(text).join(" | ");
}

function rounded(ms: number): string {
  return String(Number(ms.toPrecision(4)));
}

type Loaded = LoadedApplication<AccordionPolicy>;

/** @throws InputError for a model that cannot be cut. */
async function openModels(
  loaded: Loaded,
  prober: ModelProber,
): Promise<OpenedModels<AccordionBundle>> {
  const { application, fail } = loaded;
  const layered = await openLayers(loaded, prober);
  return {
    mistakes() {
      const counts = [...layered].map(([path, { layerCount }]) => [path, layerCount] as const);
      return layerCountMistakes(application, new Map(counts));
    },
    cut(bundle) {
      const cut = withStages(bundle, application, layered);
      return "code" in cut ? fail(cut) : cut;
    },
  };
}

/**
 * Opens the models to cut, keyed by the path in the application. The ONNX reader is loaded only if
 * there are any.
 */
async function openLayers(
  { application, fail }: Loaded,
  { probe }: ModelProber,
): Promise<Map<string, LayeredModel>> {
  const layered = new Map<string, LayeredModel>();
  for (const [task, { variants }] of application.tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      const { model } = variant;
      if (model === null || layered.has(model) || !isCut(variant, application)) continue;
      const path = ["tasks", task, "variants", index, "model"];
      if (variant.chain !== undefined) {
        fail(invalid(path, "a model that can be cut into layers", `${variant.chain.length} files`));
      }
      const { openLayeredModel } = await import("../../onnx/layered-model.ts");
      const { OnnxModelError } = await import("../../onnx/onnx-model-error.ts");
      try {
        layered.set(model, await openLayeredModel(model, probe));
      } catch (error) {
        if (!(error instanceof OnnxModelError)) throw error;
        fail(invalid(path, "a model that can be cut into layers", error.message));
      }
    }
  }
  return layered;
}
