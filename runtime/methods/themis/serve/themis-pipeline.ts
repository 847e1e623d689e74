/** Adapter between a themis bundle and the server of pipelines. */
import { followedLevels, type Table, type ThemisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import type { OnnxForecaster } from "../../../exec/onnx/onnx-forecaster.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { queryRoom } from "../../../server/graph/query-room.ts";
import { lastAnswererOf } from "../../../server/graph/requests/last-answerer.ts";
import { VisitCourses } from "../../../server/graph/requests/visit-courses.ts";
import type { ServedPipeline } from "../../../server/graph/served-pipeline.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { pipelineSignatureOf } from "../../../server/graph/signature/pipeline-signature.ts";
import { surelyMs } from "../../../server/graph/signature/sure-visits.ts";
import { scaledCells } from "../../../server/measures/profiled-cells.ts";
import { batchKnotsOf } from "../core/batch-knots.ts";
import { coreBudgetOf, themisShapeOf } from "../core/shape.ts";
import { type ThemisDispatcher, themisDispatcherOf } from "../core/themis-dispatcher.ts";
import { LookForecasts } from "./look-forecasts.ts";
import { ThemisMetrics } from "./metrics.ts";

/** Parts of a bundle that must stay the same while it is served. */
const SERVED_PARTS = ["application", "slo", "cluster", "tasks", "entryBranch", "policy"] as const;

export interface ThemisPipelineOptions {
  /** Rows that are open at most. */
  readonly maxPending: number;
  /** Axis names of each variant of all tasks, needed if a row becomes several. */
  readonly axisNames?: readonly AxisNames[] | undefined;
  /** Forecaster, required if the policy's predictor is a model. */
  readonly forecaster?: Pick<OnnxForecaster, "forecast"> | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together. */
export function themisPipeline(
  bundle: ThemisBundle,
  { maxPending, axisNames, forecaster, onNotice = () => {} }: ThemisPipelineOptions,
): ServedPipeline & { readonly dispatcher: ThemisDispatcher } {
  const named = withServedNames(bundle);
  const signature = pipelineSignatureOf(named, axisNames);
  const shape = themisShapeOf(bundle);
  const tables = bundle.tasks.flatMap(({ variants }) => variants.map(({ latency }) => latency.ms));
  const { queryCapacity, madeRows } = queryRoom(shape, maxPending);
  // The load is unknown yet: the plan of the highest level is the first.
  const dispatcher = themisDispatcherOf(bundle, { queryCapacity });
  const metrics = new ThemisMetrics(bundle, dispatcher);
  const isForetold = bundle.policy.predictor === "lstm";
  assert(!isForetold || forecaster !== undefined, "the forecaster of a model must be open");
  return {
    signature,
    dispatcher,
    queryCapacity,
    courses: new VisitCourses(signature, shape.graph, maxPending, madeRows),
    answererOf: lastAnswererOf(signature),
    holdsAllVariants: () => false,
    cells: scaledCells(named, batchKnotsOf),
    kindOf: (_worker, cores) => cores,
    p99Ms: (variant, rows, _worker, cores) => batchMs(tables[variant], rows, cores),
    fastestMs: surelyMs(bundle, (task) => fastestQueryMs(bundle, task)),
    forecasts:
      isForetold && forecaster !== undefined
        ? new LookForecasts({ dispatcher, forecaster, onNotice })
        : undefined,
    watch: (entry) => metrics.watch(entry),
    differenceFrom: (after) => bundleDifference(bundle, after, SERVED_PARTS),
    costNow: (level) => {
      const promised = followedLevels(bundle)[level]?.steady.cores;
      if (promised === undefined) return undefined;
      const held = dispatcher.coresByTask.reduce((sum, cores) => sum + cores, 0);
      return { held, promised, most: coreBudgetOf(bundle), unit: "cores" };
    },
    metricLines: () => metrics.lines(),
  };
}

/** Returns the time of a batch; beyond the profiled cores, that of the most. */
function batchMs(ms: Table | undefined, rows: number, cores: number): number | undefined {
  const [maxCores = 0, maxBatch = 0] = ms?.shape ?? [];
  if (rows > maxBatch) return undefined;
  return ms?.data[(Math.min(cores, maxCores) - 1) * maxBatch + rows - 1];
}

/** Time of a query that runs alone, with the variant and cores where it is shortest. */
function fastestQueryMs({ tasks }: ThemisBundle, task: number): number {
  const alone = (tasks[task]?.variants ?? []).flatMap(({ latency: { ms } }) => {
    const [coreCount = 0, batchCount = 0] = ms.shape;
    return Array.from({ length: coreCount }, (_, core) => ms.data[core * batchCount]);
  });
  return Math.min(...alone.map((time) => time ?? Number.NaN));
}

/** The bundle with `name@pool` in place of a name that a task has more than once. */
function withServedNames(bundle: ThemisBundle): ThemisBundle {
  const { pools } = bundle.cluster;
  if (pools.length === 1) return bundle;
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => {
      const { name, pool = 0 } = variant;
      const count = task.variants.filter((other) => other.name === name).length;
      return count === 1 ? variant : { ...variant, name: `${name}@${pools[pool]?.name ?? ""}` };
    }),
  }));
  return { ...bundle, tasks };
}
