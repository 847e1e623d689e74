/**
 * Prometheus metrics of scaled tasks: instances and their cores, the changes of both, and the
 * forecast that they follow.
 */

import { head, line, type MetricLine, metric } from "../../../base/exposition.ts";
import { scalingLines, taskWorkerLines } from "../../../base/metric-families.ts";
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type Forecaster, forecasterOf } from "../../../core/forecasters.ts";
import type { PipelineCommand, PipelineEvent } from "../../../server/graph/pipeline-recording.ts";
import { coreBudgetOf } from "../core/shape.ts";
import type { ThemisDispatcher, ThemisGauges } from "../core/themis-dispatcher.ts";

type WatchedGauges = ThemisGauges & Pick<ThemisDispatcher, "perBeat" | "beatMs">;

/** An instance, as far as its resizes go. */
interface Instance {
  readonly task: number;
  /** That it has, or is to have. */
  cores: number;
  isUp: boolean;
}

/** Times that instances were given more and fewer cores. */
type ResizeCounters = Record<"up" | "down", number>;

export class ThemisMetrics {
  readonly #taskNames: readonly string[];
  readonly #taskByVariant: readonly number[];
  readonly #coreBudget: number;
  readonly #gauges: WatchedGauges;
  readonly #forecaster: Forecaster;
  readonly #instanceByWorker = new Map<number, Instance>();
  readonly #resizesByTask: readonly ResizeCounters[];
  /** Forecast of a model; NaN without one. */
  #foretoldQps = Number.NaN;

  constructor(bundle: ThemisBundle, gauges: WatchedGauges) {
    const { predictor } = bundle.policy;
    this.#taskNames = bundle.tasks.map(({ name }) => name);
    this.#taskByVariant = bundle.tasks.flatMap(({ variants }, task) => variants.map(() => task));
    this.#coreBudget = coreBudgetOf(bundle);
    this.#gauges = gauges;
    // The forecaster is that of the dispatcher, which uses the last ten beats without a model's
    // forecast.
    this.#forecaster = forecasterOf(predictor === "lstm" ? "last-max" : predictor);
    this.#resizesByTask = bundle.tasks.map(() => ({ up: 0, down: 0 }));
  }

  /** Processes the recorded events and commands, in their order. */
  watch(entry: PipelineEvent | PipelineCommand): void {
    if (entry.kind === "assign") {
      const { worker, variant, cores = 0 } = entry;
      const task = this.#taskByVariant[variant] ?? -1;
      this.#instanceByWorker.set(worker, { task, cores, isUp: false });
    } else if (entry.kind === "release" || entry.kind === "lost") {
      this.#instanceByWorker.delete(entry.worker);
    } else if (entry.kind === "model-ready") this.#onUp(entry.worker);
    else if (entry.kind === "resize") this.#onResize(entry.worker, entry.cores);
    else if (entry.kind === "forecast") this.#foretoldQps = entry.qps;
  }

  lines(): MetricLine[] {
    const { targetsByTask, targetCoresByTask, coresByTask, perBeat, beatMs } = this.#gauges;
    const forecastQps = Number.isNaN(this.#foretoldQps)
      ? (1000 * this.#forecaster.forecast(perBeat)) / beatMs
      : this.#foretoldQps;
    const cores = "stratagem_cores";
    const each = "stratagem_worker_cores_target";
    const tasks = this.#taskNames;
    return [
      ...taskWorkerLines(
        tasks.map((task, index) => [{ task }, { target: targetsByTask[index] ?? 0 }]),
      ),
      head(each, "gauge", "Target cores of each worker of a task"),
      ...tasks.map((task, index) => line(each, { task }, targetCoresByTask[index] ?? 0)),
      head(cores, "gauge", "Cores that the workers of a task hold, and the limit of all together"),
      ...tasks.map((task, index) => line(cores, { task, state: "held" }, coresByTask[index] ?? 0)),
      line(cores, { state: "limit" }, this.#coreBudget),
      ...scalingLines(
        "cores",
        this.#resizesByTask.map((counts, index) => [{ task: tasks[index] ?? "" }, counts]),
      ),
      ...metric(
        "stratagem_forecast_qps",
        "gauge",
        "Highest rate of a second that is forecast for the next 10 s, requests a second",
        forecastQps,
      ),
    ];
  }

  #onUp(worker: number): void {
    const instance = this.#instanceByWorker.get(worker);
    if (instance !== undefined) instance.isUp = true;
  }

  /** An instance that comes up starts with the last requested cores. */
  #onResize(worker: number, cores: number): void {
    const instance = this.#instanceByWorker.get(worker);
    const resizes = this.#resizesByTask[instance?.task ?? -1];
    if (instance === undefined || resizes === undefined) return;
    if (instance.isUp) resizes[cores > instance.cores ? "up" : "down"]++;
    instance.cores = cores;
  }
}
