/**
 * What Prometheus is told of scaled tasks: instances and their cores, the changes of both, and the
 * forecast that they follow.
 */

import {
  gaugeByTask,
  Histogram,
  head,
  line,
  type MetricLine,
  metric,
} from "../../../base/exposition.ts";
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Forecaster, forecasterOf } from "../../../core/forecasters.ts";
import type { PipelineCommand, PipelineEvent } from "../../../server/graph/pipeline-recording.ts";
import { coreBudgetOf } from "../core/shape.ts";
import type { ThemisDispatcher, ThemisGauges } from "../core/themis-dispatcher.ts";

/** Bounds of the time until a resize is in force, which waits for the batch that runs. */
const RESIZE_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

type WatchedGauges = ThemisGauges & Pick<ThemisDispatcher, "lookCount" | "perBeat" | "beatMs">;

/** An instance, as far as its resizes go. */
interface Instance {
  readonly task: number;
  /** That it has, or is to have. */
  cores: number;
  isUp: boolean;
  /** When it was to have other cores; NaN once it has those that were said last. */
  sinceMs: number;
}

interface ResizeCounters {
  readonly waitMs: Histogram;
  more: number;
  fewer: number;
}

export class ThemisMetrics {
  readonly #taskNames: readonly string[];
  readonly #taskByVariant: readonly number[];
  readonly #coreBudget: number;
  readonly #gauges: WatchedGauges;
  readonly #forecaster: Forecaster;
  readonly #instanceByWorker = new Map<number, Instance>();
  readonly #resizesByTask: readonly ResizeCounters[];
  /** By a model; NaN without. */
  #foretoldQps = Number.NaN;
  /** Time of the event that the commands answer. */
  #nowMs = Number.NaN;

  constructor(bundle: ThemisBundle, gauges: WatchedGauges) {
    const { predictor } = bundle.policy;
    this.#taskNames = bundle.tasks.map(({ name }) => name);
    this.#taskByVariant = bundle.tasks.flatMap(({ variants }, task) => variants.map(() => task));
    this.#coreBudget = coreBudgetOf(bundle);
    this.#gauges = gauges;
    // The forecaster is that of the dispatcher, which looks at the last ten beats where the model
    // says nothing.
    this.#forecaster = forecasterOf(predictor === "lstm" ? "last-max" : predictor);
    this.#resizesByTask = bundle.tasks.map(() => ({
      waitMs: new Histogram(RESIZE_BOUNDS_MS),
      more: 0,
      fewer: 0,
    }));
  }

  /** Sees what is recorded, in its order. */
  watch(entry: PipelineEvent | PipelineCommand): void {
    if ("nowMs" in entry) this.#nowMs = entry.nowMs;
    if (entry.kind === "assign") {
      const { worker, variant, cores = 0 } = entry;
      const task = this.#taskByVariant[variant] ?? -1;
      this.#instanceByWorker.set(worker, { task, cores, isUp: false, sinceMs: Number.NaN });
    } else if (entry.kind === "release" || entry.kind === "lost") {
      this.#instanceByWorker.delete(entry.worker);
    } else if (entry.kind === "model-ready") this.#onUp(entry.worker);
    else if (entry.kind === "resize") this.#onResize(entry.worker, entry.cores);
    else if (entry.kind === "resized") this.#onResized(entry.worker);
    else if (entry.kind === "forecast") this.#foretoldQps = entry.qps;
  }

  lines(): MetricLine[] {
    const { targetsByTask, targetCoresByTask, assignedByTask, readyByTask, coresByTask } =
      this.#gauges;
    const gauges: readonly (readonly [name: string, help: string, values: Uint32Array])[] = [
      ["stratagem_instances_target", "Instances that a task is to have", targetsByTask],
      [
        "stratagem_instances_assigned",
        "Instances of a task, those included that come up or leave after a batch",
        assignedByTask,
      ],
      ["stratagem_instances_ready", "Instances of a task that hold its model", readyByTask],
      [
        "stratagem_instance_cores_target",
        "Cores that each instance of a task is to have",
        targetCoresByTask,
      ],
      [
        "stratagem_cores_held",
        "Cores of the instances of a task: the more of what one has and is to have",
        coresByTask,
      ],
    ];
    return [
      ...gauges.flatMap(([name, help, values]) => gaugeByTask(name, help, this.#taskNames, values)),
      ...metric(
        "stratagem_cores",
        "gauge",
        "Cores that all instances may have together",
        this.#coreBudget,
      ),
      ...this.#resizeLines(),
      ...this.#controlLines(),
    ];
  }

  #onUp(worker: number): void {
    const instance = this.#instanceByWorker.get(worker);
    if (instance !== undefined) instance.isUp = true;
  }

  /** One that comes up starts with the cores that were said last. */
  #onResize(worker: number, cores: number): void {
    const instance = this.#instanceByWorker.get(worker);
    const resizes = this.#resizesByTask[instance?.task ?? -1];
    if (instance === undefined || resizes === undefined) return;
    if (instance.isUp) {
      if (cores > instance.cores) resizes.more++;
      else resizes.fewer++;
      instance.sinceMs = this.#nowMs;
    }
    instance.cores = cores;
  }

  #onResized(worker: number): void {
    const instance = this.#instanceByWorker.get(worker);
    if (instance === undefined || Number.isNaN(instance.sinceMs)) return;
    this.#resizesByTask[instance.task]?.waitMs.observe(this.#nowMs - instance.sinceMs);
    instance.sinceMs = Number.NaN;
  }

  #resizeLines(): MetricLine[] {
    const count = "stratagem_resizes_total";
    const wait = "stratagem_resize_ms";
    return [
      head(count, "counter", "Instances that were to have more and fewer cores, by task"),
      ...this.#resizesByTask.flatMap(({ more, fewer }, index) => {
        const task = this.#taskNames[index] ?? "";
        return [
          line(count, { task, direction: "up" }, more),
          line(count, { task, direction: "down" }, fewer),
        ];
      }),
      head(wait, "histogram", "Time until an instance has the cores it is to have, by task"),
      ...this.#resizesByTask.flatMap(({ waitMs }, index) =>
        waitMs.lines(wait, { task: this.#taskNames[index] ?? "" }),
      ),
    ];
  }

  #controlLines(): MetricLine[] {
    const { goal, burstCount, settledCount, lookCount, perBeat, beatMs } = this.#gauges;
    const forecastQps = Number.isNaN(this.#foretoldQps)
      ? (1000 * this.#forecaster.forecast(perBeat)) / beatMs
      : this.#foretoldQps;
    return [
      ...metric(
        "stratagem_goal_level",
        "gauge",
        "Index of the level whose plan is being moved to, or is in force",
        goal,
      ),
      ...metric("stratagem_bursts_total", "counter", "Bursts that were met with cores", burstCount),
      ...metric(
        "stratagem_plans_settled_total",
        "counter",
        "Plans that were settled on",
        settledCount,
      ),
      ...metric("stratagem_looks_total", "counter", "Looks at the traffic", lookCount),
      ...metric(
        "stratagem_forecast_qps",
        "gauge",
        "Highest rate of a second in the next 10 s as foretold, requests a second",
        forecastQps,
      ),
    ];
  }
}
