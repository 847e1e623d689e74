/** A pipeline as one model of a server. */

import type { MetricLine } from "../../base/exposition.ts";
import type { Bundle } from "../../bundle/schema.ts";
import { pathTimesOf } from "../../core/decision-slo.ts";
import type { LoadShare, SeenLoad } from "../../core/load-share.ts";
import type { AssignedExecutor, AssignedExecutorHandlers } from "../../exec/models/executor.ts";
import type { LossCause } from "../../exec/models/scaler.ts";
import { ArrivalCounts } from "../measures/arrival-counts.ts";
import { promisedNow } from "../measures/promised-now.ts";
import { ServiceTimes } from "../measures/service-times.ts";
import type { PromisedNow, Reading, Watched } from "../measures/watched.ts";
import { paceLines, type ServedPace, servedPace } from "../metrics/served-pace.ts";
import type { Endpoint, EndpointModel } from "../requests/endpoint.ts";
import type { RequestRows, Submission } from "../requests/request.ts";
import { PipelineMetrics } from "./pipeline-metrics.ts";
import type { PipelineRecorder } from "./pipeline-recording.ts";
import { PipelineScheduler } from "./pipeline-scheduler.ts";
import type { ServedPipeline } from "./served-pipeline.ts";
import type { PipelineBundle } from "./signature/linked-tasks.ts";
import type { PipelineSignature } from "./signature/pipeline-signature.ts";

interface PipelineEndpointOptions {
  readonly bundle: PipelineBundle;
  readonly bundleSha256: string;
  /** Configuration of the pipeline from its bundle. */
  readonly pipeline: ServedPipeline;
  readonly nowMs: () => number;
  /** Maximum number of rows in unanswered requests. */
  readonly maxPending: number;
  readonly recorder?: PipelineRecorder | undefined;
  readonly onWorkerLost: (worker: number, reason: string) => void;
}

/** A pipeline as one model: rows for its entry tasks in, the outputs of all tasks out. */
export class PipelineEndpoint implements Endpoint, EndpointModel {
  readonly models: readonly EndpointModel[] = [this];
  readonly signature: PipelineSignature;
  readonly metrics: PipelineMetrics;
  readonly handlers: Required<AssignedExecutorHandlers>;
  readonly fastestMs: number;
  readonly started: Promise<void>;
  readonly bundleSha256: string;
  readonly watched: Watched;
  readonly #bundle: PipelineBundle;
  readonly #pipeline: ServedPipeline;
  readonly #scheduler: PipelineScheduler;

  constructor(options: PipelineEndpointOptions) {
    const { bundle, bundleSha256, pipeline, nowMs, maxPending, onWorkerLost } = options;
    this.signature = pipeline.signature;
    this.metrics = new PipelineMetrics(this.signature);
    this.fastestMs = pipeline.fastestMs;
    this.#bundle = bundle;
    this.bundleSha256 = bundleSha256;
    this.#pipeline = pipeline;
    const observer = this.metrics;
    const recorder = bothOf(pipeline.watch, options.recorder);
    const times = new ServiceTimes(pipeline.cells, nowMs);
    const arrivals = new ArrivalCounts(bundle.slo.latencyMs, nowMs);
    this.watched = { times, arrivals, reading: () => this.#reading() };
    const path = pathTimesOf(bundle.cluster);
    const observation = { observer, recorder, times, path };
    const scheduler = new PipelineScheduler({ ...pipeline, ...observation, maxPending, nowMs });
    this.#scheduler = scheduler;
    const onLost = (worker: number, reason: string, cause?: LossCause) => {
      scheduler.onWorkerLost(worker, reason, cause);
      onWorkerLost(worker, reason);
    };
    let settleStarted: () => void = () => {};
    this.started = new Promise((resolve) => {
      settleStarted = resolve;
    });
    this.handlers = {
      onReady: (worker) => scheduler.onWorkerReady(worker),
      onModelReady: (worker, loads) => {
        scheduler.onModelReady(worker, loads);
        if (this.isReady) settleStarted();
      },
      onResized: (worker) => scheduler.onResized(worker),
      onLost,
      onRetried: (_, rows) => this.metrics.onQueryRetried(rows),
      onReplaced: (worker, reason, cause) => {
        onLost(worker, reason, cause);
        scheduler.onWorkerReady(worker);
      },
    };
  }

  get bundle(): Bundle {
    return this.#bundle;
  }

  get isReady(): boolean {
    return this.#scheduler.workers.canServe;
  }

  attach(executor: AssignedExecutor): void {
    this.#scheduler.attach(executor);
  }

  submit(rows: RequestRows, deadlineMs: number, _isHigh = false, bucket = 0): Submission {
    this.watched.arrivals.onRows(rows.rows);
    return this.#scheduler.submit(rows, deadlineMs, bucket);
  }

  onRejected(rows: number): void {
    this.watched.arrivals.onRows(rows);
    this.#scheduler.reject(rows);
  }

  metricLines(): MetricLine[] {
    const scheduler = this.#scheduler;
    const { levels } = this.#bundle;
    const gauges = {
      loadQps: scheduler.loadQps,
      pendingQueries: scheduler.pendingCount,
      readyWorkers: scheduler.workers.readyCount,
      workers: scheduler.workers.workerCount,
      servers: scheduler.servers,
      workersByVariant: scheduler.workers.countsByVariant(),
      level: scheduler.level,
      topLevelQps: levels.at(-1)?.loadQps ?? Number.NaN,
      bundleSha256: this.bundleSha256,
      promise: this.#promisedNow() ?? { violationRate: undefined },
    };
    return [
      ...this.metrics.lines(gauges),
      ...this.#pipeline.metricLines(scheduler.workers),
      ...(this.pace === undefined ? [] : paceLines(this.pace)),
      ...this.watched.times.lines(),
    ];
  }

  get pace(): ServedPace | undefined {
    const { pace } = this.#scheduler;
    return pace && servedPace(pace, this.#bundle.cluster.pools);
  }

  #promisedNow(): PromisedNow | undefined {
    const { level, loadQps, pace } = this.#scheduler;
    return promisedNow(this.#bundle, { level, loadQps, pace: pace?.stretch ?? 1 });
  }

  #reading(): Reading {
    const { arrivals, levels } = this.#bundle;
    const scheduler = this.#scheduler;
    return {
      bundleSha256: this.bundleSha256,
      compiled: arrivals,
      loadQps: scheduler.loadQps,
      topLevelQps: levels.at(-1)?.loadQps ?? Number.NaN,
      pace: scheduler.pace?.stretch ?? 1,
      promised: this.#promisedNow(),
      rows: this.metrics.rows,
      accuracySum: this.metrics.accuracySum,
      cost: this.#pipeline.costNow?.(scheduler.level, scheduler.workers),
    };
  }

  /** Never in place: what waits is bound to the plan it was routed by. */
  replaceBundle(bundle: Bundle): string {
    const difference = this.#pipeline.differenceFrom(bundle);
    if (difference !== null) return `it has another ${difference}`;
    return "the plans of a pipeline cannot be replaced while it is served";
  }

  share(share: LoadShare): void {
    this.#scheduler.share(share);
  }

  seenLoad(): SeenLoad {
    return this.#scheduler.seenLoad();
  }

  drain(): void {}

  abort(): void {
    this.#scheduler.abort();
  }
}

function bothOf(
  one: PipelineRecorder | undefined,
  other: PipelineRecorder | undefined,
): PipelineRecorder | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (entry) => {
    one(entry);
    other(entry);
  };
}
