/** Adapter between an inferline bundle and the server of pipelines. */

import { type MetricLine, metric } from "../../../base/exposition.ts";
import { scalingLines, taskWorkerLines } from "../../../base/metric-families.ts";
import { type InferlineBundle, MICROS, priceMicros } from "../../../bundle/schema.ts";
import { replicaShapeOf } from "../../../core/graph/replica-shape.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { pooledP99Ms } from "../../../server/graph/pooled-times.ts";
import { queryRoom } from "../../../server/graph/query-room.ts";
import { lastAnswererOf } from "../../../server/graph/requests/last-answerer.ts";
import { VisitCourses } from "../../../server/graph/requests/visit-courses.ts";
import { fastestQueryMs, type ServedPipeline } from "../../../server/graph/served-pipeline.ts";
import type { AxisNames } from "../../../server/graph/signature/output-groups.ts";
import { pipelineSignatureOf } from "../../../server/graph/signature/pipeline-signature.ts";
import { surelyMs } from "../../../server/graph/signature/sure-visits.ts";
import type { WorkerModels } from "../../../server/graph/worker-models.ts";
import { pooledCells, poolOfWorker } from "../../../server/measures/profiled-cells.ts";
import {
  type InferlineDispatcher,
  type InferlineGauges,
  inferlineDispatcherOf,
} from "../core/inferline-dispatcher.ts";
import type { ReplicaTuner, StageState } from "../core/replica-tuner.ts";
import { replicaTunerOf } from "../core/replica-tuner-of.ts";

/** Parts of a bundle that must stay the same while it is served. */
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
  // The load is unknown yet, and too many replicas are better than too few.
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

class InferlineMetrics {
  readonly #taskNames: readonly string[];
  /** [workerCount]: price per hour, in millionths. */
  readonly #microsByWorker: readonly number[];
  readonly #gauges: InferlineGauges;
  readonly #tuner: WatchedTuner;

  constructor({ tasks, cluster }: InferlineBundle, gauges: InferlineGauges, tuner: WatchedTuner) {
    this.#taskNames = tasks.map(({ name }) => name);
    this.#microsByWorker = cluster.pools.flatMap((pool) =>
      new Array<number>(pool.workers).fill(priceMicros(pool)),
    );
    this.#gauges = gauges;
    this.#tuner = tuner;
  }

  lines(workers: Pick<WorkerModels, "isAssigned">): MetricLine[] {
    const { targetsByTask } = this.#gauges;
    const { ups, downs } = this.#tuner;
    const tasks = this.#taskNames;
    return [
      ...taskWorkerLines(
        tasks.map((task, index) => [{ task }, { target: targetsByTask[index] ?? 0 }]),
      ),
      ...scalingLines(
        "workers",
        tasks.map((task, index) => [{ task }, { up: ups[index] ?? 0, down: downs[index] ?? 0 }]),
      ),
      ...metric(
        "stratagem_cost_per_hour",
        "gauge",
        "Price of the current replicas, in the unit of the pools",
        this.costPerHour(workers),
      ),
    ];
  }

  /** Cost of all workers. */
  get mostPerHour(): number {
    return this.#microsByWorker.reduce((sum, price) => sum + price, 0) / MICROS;
  }

  /** Cost of the workers that are replicas now. */
  costPerHour(workers: Pick<WorkerModels, "isAssigned">): number {
    const micros = this.#microsByWorker.reduce(
      (sum, price, worker) => sum + (workers.isAssigned(worker) ? price : 0),
      0,
    );
    return micros / MICROS;
  }
}

/** Tuner that counts the changes. */
class WatchedTuner implements ReplicaTuner {
  readonly tuner: ReplicaTuner;
  /**
   * [taskCount], each: replicas by which the target of a task has risen, and fallen, all changes
   * together.
   */
  readonly ups: Uint32Array;
  readonly downs: Uint32Array;
  readonly #known: Uint32Array;

  constructor(tuner: ReplicaTuner) {
    this.tuner = tuner;
    this.#known = tuner.targets.slice();
    this.ups = new Uint32Array(this.#known.length);
    this.downs = new Uint32Array(this.#known.length);
  }

  get targets(): Uint32Array {
    return this.tuner.targets;
  }

  get level(): number | undefined {
    return this.tuner.level;
  }

  get isLateLast(): boolean | undefined {
    return this.tuner.isLateLast;
  }

  get recentMeanQps(): number {
    return this.tuner.recentMeanQps;
  }

  get wakeMs(): number {
    return this.tuner.wakeMs;
  }

  onArrival(nowMs: number): boolean {
    const isChanged = this.tuner.onArrival(nowMs);
    if (isChanged) this.#count();
    return isChanged;
  }

  onQuery(task: number): void {
    this.tuner.onQuery?.(task);
  }

  tick(nowMs: number, state: StageState): boolean {
    const isChanged = this.tuner.tick(nowMs, state);
    if (isChanged) this.#count();
    return isChanged;
  }

  follow(level: number, nowMs: number): void {
    this.tuner.follow(level, nowMs);
    this.#count();
  }

  #count(): void {
    for (const [task, target] of this.targets.entries()) {
      const rise = target - (this.#known[task] ?? 0);
      const changes = rise > 0 ? this.ups : this.downs;
      changes[task] = (changes[task] ?? 0) + Math.abs(rise);
      this.#known[task] = target;
    }
  }
}
