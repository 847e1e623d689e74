/**
 * What Prometheus is told of provisioned tasks: replicas, the traffic envelope that they follow,
 * and what they cost.
 */
import { type InferlineBundle, MICROS, priceMicros } from "../../../bundle/schema.ts";
import type { WorkerModels } from "../../../server/graph/worker-models.ts";
import { head, line, type MetricLine, metric } from "../../../server/metrics/exposition.ts";
import { EnvelopeTuner } from "../core/envelope-tuner.ts";
import type { InferlineGauges } from "../core/inferline-dispatcher.ts";
import { JointTuner } from "../core/joint-tuner.ts";
import type { WatchedTuner } from "./watched-tuner.ts";

export class InferlineMetrics {
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
    const { targetsByTask, assignedByTask, readyByTask } = this.#gauges;
    return [
      ...this.#byTask(
        "stratagem_replicas_target",
        "Replicas that a task is to have",
        targetsByTask,
      ),
      ...this.#byTask(
        "stratagem_replicas_assigned",
        "Replicas of a task, those included that come up or leave after a batch",
        assignedByTask,
      ),
      ...this.#byTask(
        "stratagem_replicas_ready",
        "Replicas of a task that hold its model",
        readyByTask,
      ),
      ...this.#scalingLines(),
      ...this.#envelopeLines(),
      ...metric(
        "stratagem_cost_per_hour",
        "gauge",
        "Price of the replicas there are, in the unit of the pools",
        this.costPerHour(workers),
      ),
    ];
  }

  #byTask(name: string, help: string, values: Uint32Array): MetricLine[] {
    return [
      head(name, "gauge", help),
      ...this.#taskNames.map((task, index) => line(name, { task }, values[index] ?? 0)),
    ];
  }

  #scalingLines(): MetricLine[] {
    const name = "stratagem_scaling_actions_total";
    const { ups, downs } = this.#tuner;
    return [
      head(name, "counter", "Replicas asked for and given up, by task"),
      ...this.#taskNames.flatMap((task, index) => [
        line(name, { task, direction: "up" }, ups[index] ?? 0),
        line(name, { task, direction: "down" }, downs[index] ?? 0),
      ]),
    ];
  }

  /** Replicas that stay as planned follow no envelope. */
  #envelopeLines(): MetricLine[] {
    const { tuner } = this.#tuner;
    if (!(tuner instanceof EnvelopeTuner || tuner instanceof JointTuner)) return [];
    const requests = "stratagem_envelope_requests";
    const { windowMs, observedRequests, sampleRequests, excess } = tuner;
    return [
      head(requests, "gauge", "Most requests in a window: of the last minute, of the sample"),
      ...[...windowMs].flatMap((ms, window) => {
        const sample = sampleRequests[window] ?? Number.NaN;
        // A level whose plan is slower than that of another says nothing of the shortest windows.
        if (Number.isNaN(sample)) return [];
        return [
          line(requests, { window_ms: `${ms}`, of: "observed" }, observedRequests[window] ?? 0),
          line(requests, { window_ms: `${ms}`, of: "sample" }, sample),
        ];
      }),
      ...metric(
        "stratagem_envelope_excess",
        "gauge",
        "Largest ratio of an observed number of requests to that of the sample",
        excess,
      ),
    ];
  }

  /** Of all workers there are. */
  get mostPerHour(): number {
    return this.#microsByWorker.reduce((sum, price) => sum + price, 0) / MICROS;
  }

  /** Of those that are replicas now. */
  costPerHour(workers: Pick<WorkerModels, "isAssigned">): number {
    const micros = this.#microsByWorker.reduce(
      (sum, price, worker) => sum + (workers.isAssigned(worker) ? price : 0),
      0,
    );
    return micros / MICROS;
  }
}
