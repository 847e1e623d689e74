/** Adapter between a loki bundle and the server of pipelines. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { pooledP99Ms } from "../../../server/graph/pooled-times.ts";
import { answererOf } from "../../../server/graph/requests/paths.ts";
import { fastestQueryMs, type ServedPipeline } from "../../../server/graph/served-pipeline.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { pipelineSignatureOf } from "../../../server/graph/signature/pipeline-signature.ts";
import { pooledCells, poolOfWorker } from "../../../server/measures/profiled-cells.ts";
import { pipelineDispatcherOf } from "../core/loki-dispatcher.ts";
import { queryRoom } from "./query-room.ts";
import { TreeCourses } from "./tree-courses.ts";

/** Parts of a bundle that must stay the same while it is served. */
const SERVED_PARTS = ["application", "slo", "cluster", "tasks", "leaves", "policy"] as const;

/**
 * @param maxPending rows that are open at most.
 * @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together.
 */
export function lokiPipeline(
  bundle: LokiBundle,
  axisNames: readonly AxisNames[] | undefined,
  maxPending: number,
): ServedPipeline {
  const signature = pipelineSignatureOf(bundle, axisNames);
  const queryCapacity = queryRoom(bundle, maxPending);
  return {
    signature,
    dispatcher: pipelineDispatcherOf(bundle, { queryCapacity }),
    queryCapacity,
    courses: new TreeCourses(signature),
    answererOf: answererOf(bundle, signature),
    holdsAllVariants: (task) =>
      bundle.levels.some(({ stages }) => (stages?.[task] ?? null) !== null),
    p99Ms: pooledP99Ms(bundle),
    cells: pooledCells(bundle),
    kindOf: poolOfWorker(bundle),
    fastestMs: fastestMs(bundle),
    differenceFrom: (after) => bundleDifference(bundle, after, SERVED_PARTS),
    metricLines: () => [],
  };
}

/** Returns the time of the longest path, each task with its fastest variant for one query. */
function fastestMs({ tasks }: LokiBundle): number {
  const msToTask: number[] = [];
  for (const { parent, variants } of tasks) {
    const before = parent === null ? 0 : (msToTask[parent] ?? 0);
    msToTask.push(before + fastestQueryMs(variants));
  }
  return Math.max(...msToTask);
}
