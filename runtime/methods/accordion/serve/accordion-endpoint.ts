/** The endpoint of models that run as malleable pipelines. */

import type { MetricLine } from "../../../base/exposition.ts";
import type { AccordionBundle, Bundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { pathTimesOf } from "../../../core/decision-slo.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/models/executor.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { ArrivalCounts } from "../../../server/measures/arrival-counts.ts";
import { poolOfWorker, stageCells } from "../../../server/measures/profiled-cells.ts";
import { promisedNow } from "../../../server/measures/promised-now.ts";
import { ServiceTimes } from "../../../server/measures/service-times.ts";
import type { PromisedNow, Reading, Watched } from "../../../server/measures/watched.ts";
import { paceLines, type ServedPace, servedPace } from "../../../server/metrics/served-pace.ts";
import type { Endpoint, EndpointModel } from "../../../server/requests/endpoint.ts";
import { AccordionScheduler } from "../core/scheduler.ts";
import { AccordionDriver } from "./driver.ts";
import { AccordionMetrics } from "./metrics.ts";
import type { AccordionRecorder } from "./recording.ts";
import { accordionServedModels } from "./served-models.ts";

/** Parts of a bundle that must stay the same while it is served. */
const SERVED_PARTS = ["application", "slo", "cluster", "tasks", "policy", "shapes"] as const;

interface AccordionEndpointOptions {
  readonly bundle: AccordionBundle;
  readonly bundleSha256: string;
  readonly nowMs: () => number;
  /** Rows of requests that have no answer yet, at most. */
  readonly maxPending: number;
  readonly recorder?: AccordionRecorder | undefined;
  readonly onWorkerLost: (worker: number, reason: string) => void;
}

/** The variants of a bundle, each a model of its own, on the execution places that they share. */
export class AccordionEndpoint implements Endpoint {
  readonly models: readonly EndpointModel[];
  readonly handlers: Required<ExecutorHandlers>;
  readonly started: Promise<void>;
  readonly bundleSha256: string;
  readonly watched: Watched;
  readonly #bundle: AccordionBundle;
  readonly #metrics: AccordionMetrics;
  readonly #scheduler: AccordionScheduler;
  readonly #driver: AccordionDriver;

  /**
   * @throws RuntimeError RUNTIME_MODEL if a model has no stages, or these do not make up the model.
   */
  constructor(options: AccordionEndpointOptions) {
    const { bundle, bundleSha256, nowMs, maxPending, recorder, onWorkerLost } = options;
    const models = accordionServedModels(bundle);
    const metrics = new AccordionMetrics(models.map(({ signature }) => signature.names[0] ?? ""));
    const scheduler = new AccordionScheduler(bundle, { queryCapacity: maxPending });
    const observer = metrics;
    const times = new ServiceTimes(stageCells(bundle), nowMs);
    const arrivals = new ArrivalCounts(bundle.slo.latencyMs, nowMs);
    this.watched = { times, arrivals, reading: () => this.#reading() };
    const driver = new AccordionDriver({
      beatMs: beatMsOf(bundle.slo),
      models,
      scheduler,
      maxPending,
      nowMs,
      recorder,
      observer,
      times,
      kindOf: poolOfWorker(bundle),
      path: pathTimesOf(bundle.cluster),
    });
    this.#bundle = bundle;
    this.bundleSha256 = bundleSha256;
    this.#metrics = metrics;
    this.#scheduler = scheduler;
    this.#driver = driver;
    this.models = models.map(({ signature, fastestMs }, model) => ({
      signature,
      metrics: metrics.requests(model),
      fastestMs,
      isWhole: true,
      givesUpLow: true,
      maxRows: bundle.policy.maxBatch,
      // A request is one query, whatever its rows.
      onRejected: (rows) => {
        arrivals.onRows(1);
        driver.reject(model, rows);
      },
      submit: (rows, deadlineMs, isHigh) => {
        arrivals.onRows(1);
        return driver.submit(model, rows, deadlineMs, isHigh);
      },
    }));
    let settleStarted: () => void = () => {};
    this.started = new Promise((resolve) => {
      settleStarted = resolve;
    });
    const onReady = (worker: number) => {
      driver.onWorkerReady(worker);
      if (this.isReady) settleStarted();
    };
    const onLost = (worker: number, reason: string, cause?: LossCause) => {
      driver.onWorkerLost(worker, cause);
      onWorkerLost(worker, reason);
    };
    this.handlers = {
      onReady,
      onLost,
      onRetried: (_, rows) => this.#metrics.onQueryRetried(rows),
      onReplaced: (worker, reason, cause) => {
        driver.onWorkerReplaced(worker, cause);
        onWorkerLost(worker, reason);
      },
    };
  }

  get bundle(): Bundle {
    return this.#bundle;
  }

  get isReady(): boolean {
    return this.#driver.canServe;
  }

  attach(executor: Executor): void {
    this.#driver.attach(executor);
  }

  metricLines(): MetricLine[] {
    const scheduler = this.#scheduler;
    const { levels, application } = this.#bundle;
    const { loadQps } = this.#driver;
    const lines = this.#metrics.lines({
      places: scheduler.placeCount,
      readyPlaces: scheduler.readyPlaceCount,
      busyPlaces: scheduler.busyPlaceCount,
      activeQueries: scheduler.activeCount,
      waitingQueries: scheduler.waitingCount,
      loadQps,
      topLevelQps: levels.at(-1)?.loadQps ?? Number.NaN,
      application,
      promisedViolationRate: this.#promisedNow()?.violationRate ?? Number.NaN,
      bundleSha256: this.bundleSha256,
    });
    return [...lines, ...paceLines(this.pace), ...this.watched.times.lines()];
  }

  get pace(): ServedPace {
    return servedPace(this.#scheduler.pace, this.#bundle.cluster.pools);
  }

  /** Promise of the lowest level that is not below the load; of the lowest while it is unknown. */
  #promisedNow(): PromisedNow | undefined {
    const { loadQps } = this.#driver;
    const level = levelForLoad(this.#bundle.levels, loadQps || 0);
    return promisedNow(this.#bundle, { level, loadQps, pace: this.#scheduler.pace.stretch });
  }

  #reading(): Reading {
    const { arrivals, levels } = this.#bundle;
    return {
      bundleSha256: this.bundleSha256,
      compiled: arrivals,
      loadQps: this.#driver.loadQps,
      topLevelQps: levels.at(-1)?.loadQps ?? Number.NaN,
      pace: this.#scheduler.pace.stretch,
      promised: this.#promisedNow(),
      rows: this.#metrics.rows,
      accuracySum: 0,
    };
  }

  /** Never in place: queries run by the table they were started by. */
  replaceBundle(bundle: Bundle): string {
    const difference = bundleDifference(this.#bundle, bundle, SERVED_PARTS);
    if (difference !== null) return `it has another ${difference}`;
    return "the table of malleable pipelines cannot be replaced while it is served";
  }

  drain(): void {}

  abort(): void {
    this.#driver.abort();
  }
}
