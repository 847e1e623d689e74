/** A pipeline as its server sees it. */

import type { MetricLine } from "../../base/exposition.ts";
import type { Bundle, PoolProfile } from "../../bundle/schema.ts";
import type { ProfiledCells } from "../measures/service-times.ts";
import type { CostNow } from "../measures/watched.ts";
import type { Forecasts } from "./forecasts.ts";
import type { PipelineRecorder } from "./pipeline-recording.ts";
import type { ServedDispatcher } from "./recorded-dispatcher.ts";
import type { Courses } from "./requests/course.ts";
import type { AnswererOf } from "./requests/pipeline-request.ts";
import type { PipelineSignature } from "./signature/pipeline-signature.ts";
import type { WorkerModels } from "./worker-models.ts";

/** Parts of a served pipeline that differ between methods. */
export interface ServedPipeline {
  readonly signature: PipelineSignature;
  /** New dispatcher with a capacity of `queryCapacity` queries. */
  readonly dispatcher: ServedDispatcher;
  readonly queryCapacity: number;
  readonly courses: Courses;
  readonly answererOf: AnswererOf;
  /** Whether a worker of a task holds all its variants, for batches that choose among them. */
  readonly holdsAllVariants: (task: number) => boolean;
  /**
   * Profiled p99 of a batch, ms; undefined where it is unknown.
   * @param cores for workers with several.
   */
  readonly p99Ms: (
    variant: number,
    rows: number,
    worker: number,
    cores: number,
  ) => number | undefined;
  /** Promised times of batches by variant, size and kind of worker. */
  readonly cells: ProfiledCells;
  /** @param cores where workers have several. */
  readonly kindOf: (worker: number, cores: number) => number;
  /** Least time in which a request can be answered. */
  readonly fastestMs: number;
  /** Forecasts that the driver makes for the dispatcher. Default: none. */
  readonly forecasts?: Forecasts | undefined;
  /** Sees all that is recorded, for metrics of this method's own. */
  readonly watch?: PipelineRecorder | undefined;
  /** Describes why another bundle could not follow this one; null if it can. */
  readonly differenceFrom: (after: Bundle) => string | null;
  /** Promised cost of the current level, and the current cost. Default: plans promise no cost. */
  readonly costNow?: (
    level: number,
    workers: Pick<WorkerModels, "isAssigned">,
  ) => CostNow | undefined;
  /** Lines of the metrics that only this method has. */
  readonly metricLines: (workers: Pick<WorkerModels, "isAssigned">) => MetricLine[];
}

/** Time of a query that runs alone, with the variant and on the hardware where it is shortest. */
export function fastestQueryMs(
  variants: readonly { readonly profiles: readonly (PoolProfile | null)[] }[],
): number {
  const times = variants.flatMap(({ profiles }) =>
    profiles.map((profile) => profile?.serviceTimes.decisionMs.data[0] ?? Number.POSITIVE_INFINITY),
  );
  return Math.min(...times);
}
