/**
 * Counts of requests, for all methods: Triton's metrics and statistics, and histograms of
 * latencies.
 */
import { Histogram, head, type Labels, line, type MetricLine } from "../../base/exposition.ts";
import { secondsOf, timeBoundsSeconds } from "../metrics/histogram-bounds.ts";
import type { AnswerTimes, BatchTimes, FailureReason } from "./request.ts";

/** Triton's reasons for a failed request; it has no others. */
type FailureLabel = "REJECTED" | "CANCELED" | "BACKEND" | "OTHER";

const LABEL_BY_REASON: Readonly<Record<FailureReason, FailureLabel>> = {
  "queue-full": "REJECTED",
  shed: "REJECTED",
  late: "REJECTED",
  timeout: "REJECTED",
  "no-worker": "REJECTED",
  "sequences-full": "REJECTED",
  cancelled: "CANCELED",
  inference: "BACKEND",
  "worker-lost": "BACKEND",
  refused: "OTHER",
  "sequence-not-open": "OTHER",
  closed: "OTHER",
};

/** Sums over the batches of one size. */
export interface BatchSizeCount {
  count: number;
  inputMs: number;
  inferMs: number;
  outputMs: number;
}

/** Times of an answered request, from its arrival until its answer was written. */
export interface RequestTimes extends Pick<AnswerTimes, "queueMs" | "inputMs" | "inferMs"> {
  readonly requestMs: number;
  readonly outputMs: number;
}

/** Elements added to fill a request up to its bucket. */
export interface Padding {
  /** Index of the bucket. */
  readonly bucket: number;
  /** Elements that were filled in, of how many. */
  readonly filled: number;
  readonly elements: number;
}

export class RequestMetrics {
  readonly model: string;
  readonly #failures: Record<FailureLabel, number> = {
    REJECTED: 0,
    CANCELED: 0,
    BACKEND: 0,
    OTHER: 0,
  };
  #failedMs = 0;
  successCount = 0;
  requestMs = 0;
  queueMs = 0;
  inputMs = 0;
  inferMs = 0;
  outputMs = 0;
  inferenceCount = 0;
  executionCount = 0;
  lastRequestMs = 0;
  readonly paddingByBucket = new Map<
    number,
    { requests: number; filled: number; elements: number }
  >();
  readonly countByBatchSize = new Map<number, BatchSizeCount>();

  constructor(model: string) {
    this.model = model;
  }

  get failureCount(): number {
    return Object.values(this.#failures).reduce((sum, count) => sum + count, 0);
  }

  get failedMs(): number {
    return this.#failedMs;
  }

  onBatchDone({ rows }: { readonly rows: number }, times: BatchTimes): void {
    this.inferenceCount += rows;
    this.executionCount++;
    // Batches are no larger than the bundle allows, so the map is small.
    let known = this.countByBatchSize.get(rows);
    if (known === undefined) {
      known = { count: 0, inputMs: 0, inferMs: 0, outputMs: 0 };
      this.countByBatchSize.set(rows, known);
    }
    known.count++;
    known.inputMs += times.inputMs;
    known.inferMs += times.inferMs;
    known.outputMs += times.outputMs;
  }

  /** Called for requests to models with buckets. */
  onPadded({ bucket, filled, elements }: Padding): void {
    const known = this.paddingByBucket.get(bucket) ?? { requests: 0, filled: 0, elements: 0 };
    known.requests++;
    known.filled += filled;
    known.elements += elements;
    this.paddingByBucket.set(bucket, known);
  }

  onRequestAnswered(times: RequestTimes, nowMs: number): void {
    this.successCount++;
    this.requestMs += times.requestMs;
    this.queueMs += times.queueMs;
    this.inputMs += times.inputMs;
    this.inferMs += times.inferMs;
    this.outputMs += times.outputMs;
    this.lastRequestMs = nowMs;
  }

  /** @param reason undefined for a request that was refused before it was scheduled. */
  onRequestFailed(reason: FailureReason | undefined, requestMs: number, nowMs: number): void {
    this.#failures[reason === undefined ? "OTHER" : LABEL_BY_REASON[reason]]++;
    this.#failedMs += requestMs;
    this.lastRequestMs = nowMs;
  }

  protected tritonLines(): MetricLine[] {
    return RequestMetrics.tritonLines([this]);
  }

  /** Combines the metrics of several models of one server. */
  static tritonLines(models: readonly RequestMetrics[]): MetricLine[] {
    const labels = ({ model }: RequestMetrics) => ({ model, version: "1" });
    const counter = (name: string, help: string, countOf: (one: RequestMetrics) => number) => [
      head(`nv_inference_${name}`, "counter", help),
      ...models.map((one) => line(`nv_inference_${name}`, labels(one), countOf(one))),
    ];
    const us = (ms: number) => Math.round(ms * 1000);
    return [
      ...counter("request_success", "Requests answered", (one) => one.successCount),
      head("nv_inference_request_failure", "counter", "Failed requests, by reason"),
      ...models.flatMap((one) =>
        Object.entries(one.#failures).map(([reason, count]) =>
          line("nv_inference_request_failure", { ...labels(one), reason }, count),
        ),
      ),
      ...counter("count", "Rows run", (one) => one.inferenceCount),
      ...counter("exec_count", "Batches run", (one) => one.executionCount),
      ...counter("request_duration_us", "Time of answered requests", (one) => us(one.requestMs)),
      ...counter("queue_duration_us", "Queueing time of answered requests", (one) =>
        us(one.queueMs),
      ),
      ...counter(
        "compute_input_duration_us",
        "Time to hand answered requests to their workers",
        (one) => us(one.inputMs),
      ),
      ...counter("compute_infer_duration_us", "Inference time of answered requests", (one) =>
        us(one.inferMs),
      ),
      ...counter("compute_output_duration_us", "Time to write answers", (one) => us(one.outputMs)),
    ];
  }
}

const REQUEST = "stratagem_request_duration_seconds";
const PHASE = "stratagem_request_phase_seconds";
const PENDING = "stratagem_pending_requests";
const SLO = "stratagem_slo_seconds";

/** Latencies of one model. */
export class Latencies {
  /** Inference requests in progress. */
  pending = 0;
  readonly #sloMs: number;
  readonly #request: Histogram;
  readonly #queue: Histogram;
  readonly #compute: Histogram;

  /** @param moreSlosMs of classes, which are bounds too. */
  constructor(sloMs: number, moreSlosMs: readonly number[] = []) {
    this.#sloMs = sloMs;
    const bounds = timeBoundsSeconds(sloMs, moreSlosMs);
    this.#request = new Histogram(bounds);
    this.#queue = new Histogram(bounds);
    this.#compute = new Histogram(bounds);
  }

  onAnswered(requestMs: number, queueMs: number, inferMs: number): void {
    this.#request.observe(requestMs / 1000);
    this.#queue.observe(queueMs / 1000);
    this.#compute.observe(inferMs / 1000);
  }

  /** @param models by their names. */
  static lines(models: readonly (readonly [model: string, latencies: Latencies])[]): MetricLine[] {
    return [
      head(REQUEST, "histogram", "Latency of answered requests, from arrival to answer"),
      ...models.flatMap(([model, one]) => one.#request.lines(REQUEST, { model })),
      head(PHASE, "histogram", "Queueing time and inference time of answered requests"),
      ...models.flatMap(([model, one]) => [
        ...one.#queue.lines(PHASE, { model, phase: "queue" }),
        ...one.#compute.lines(PHASE, { model, phase: "compute" }),
      ]),
      head(PENDING, "gauge", "Inference requests in progress"),
      ...models.map(([model, { pending }]) => line(PENDING, { model }, pending)),
      ...sloLines(models.map(([model, one]) => [{ model }, one.#sloMs])),
    ];
  }
}

/** @param slosMs by model or class. */
export function sloLines(
  slosMs: readonly (readonly [labels: Labels, sloMs: number])[],
): MetricLine[] {
  return [
    head(SLO, "gauge", "Latency SLO of requests, by class if there are classes"),
    ...slosMs.map(([labels, sloMs]) => line(SLO, labels, secondsOf(sloMs))),
  ];
}
