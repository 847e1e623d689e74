/** What a server of pipelines needs of a bundle of inferline. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { replicaShapeOf } from "../../../core/graph/replica-shape.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { pooledCells, poolOfWorker } from "../../../server/drift/profiled-cells.ts";
import { lastAnswererOf } from "../../../server/graph/last-answerer.ts";
import type { AxisNames } from "../../../server/graph/output-groups.ts";
import { pipelineSignatureOf } from "../../../server/graph/pipeline-signature.ts";
import { pooledP99Ms } from "../../../server/graph/pooled-times.ts";
import { queryRoom } from "../../../server/graph/query-room.ts";
import { fastestQueryMs, type ServedPipeline } from "../../../server/graph/served-pipeline.ts";
import { surelyMs } from "../../../server/graph/sure-visits.ts";
import { VisitCourses } from "../../../server/graph/visit-courses.ts";
import { type InferlineDispatcher, inferlineDispatcherOf } from "../core/inferline-dispatcher.ts";
import { replicaTunerOf } from "../core/replica-tuner-of.ts";
import { InferlineMetrics } from "./metrics.ts";
import { WatchedTuner } from "./watched-tuner.ts";

/** What stays the same while a bundle is served. */
const SERVED_PARTS = ["application", "slo", "cluster", "tasks", "entryBranch", "policy"] as const;

/**
 * @param maxPending rows that are open at most.
 * @param axisNames of each variant of all tasks, needed where a row becomes several.
 * @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together.
 */
export function inferlinePipeline(
  bundle: InferlineBundle,
  maxPending: number,
  axisNames?: readonly AxisNames[],
): ServedPipeline & { readonly dispatcher: InferlineDispatcher } {
  const signature = pipelineSignatureOf(bundle, axisNames);
  const shape = replicaShapeOf(bundle);
  const { queryCapacity, madeRows } = queryRoom(shape, maxPending);
  // The load is not known yet, and too many replicas are better than too few.
  const tuner = new WatchedTuner(replicaTunerOf(bundle, levelForLoad(bundle.levels, Number.NaN)));
  const dispatcher = inferlineDispatcherOf(bundle, { queryCapacity, tuner });
  const metrics = new InferlineMetrics(bundle, dispatcher, tuner);
  return {
    signature,
    dispatcher,
    queryCapacity,
    courses: new VisitCourses(signature, shape.graph, maxPending, madeRows),
    answererOf: lastAnswererOf(signature),
    holdsAllVariants: () => false,
    p99Ms: pooledP99Ms(bundle),
    cells: pooledCells(bundle),
    kindOf: poolOfWorker(bundle),
    // Each on the fastest hardware for one query.
    fastestMs: surelyMs(bundle, (task) => fastestQueryMs(bundle.tasks[task]?.variants ?? [])),
    differenceFrom: (after) => bundleDifference(bundle, after, SERVED_PARTS),
    costNow: (level, workers) => {
      const promised = bundle.levels[level]?.expected.costPerHour;
      if (promised === undefined) return undefined;
      const { mostPerHour: most } = metrics;
      return { held: metrics.costPerHour(workers), promised, most, unit: "an hour" };
    },
    metricLines: (workers) => metrics.lines(workers),
  };
}
