/** Hosts one variant: rows wait in one queue, and a free worker takes a batch of them. */

import { type MetricLine, metric } from "../../../base/exposition.ts";
import type { Bundle, FixedBundle } from "../../../bundle/schema.ts";
import { pooledWorkers } from "../../../describe/serving-summary.ts";
import type { BatchResult, Executor, ExecutorHandlers } from "../../../exec/models/executor.ts";
import { InferenceError } from "../../../exec/models/executor.ts";
import {
  type Application,
  type ApplicationOptions,
  applicationOf,
  type ServedEndpoint,
} from "../../../server/applications/application.ts";
import { bundleDifference } from "../../../server/bundle-difference.ts";
import { ArrivalCounts } from "../../../server/measures/arrival-counts.ts";
import { ServiceTimes } from "../../../server/measures/service-times.ts";
import type { Watched } from "../../../server/measures/watched.ts";
import type { EndpointModel } from "../../../server/requests/endpoint.ts";
import type { RecordedEntry } from "../../../server/requests/recorded-entry.ts";
import { PendingRequest, type RequestRows, rowedOutput } from "../../../server/requests/request.ts";
import { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import { type ModelSignature, taskTensors } from "../../../server/tensors/signature.ts";
import { FixedCluster, type FixedStart } from "../core/fixed-cluster.ts";

/** @throws RuntimeError RUNTIME_MODEL if the bundle has no model. */
export function fixedApplication(
  bundle: FixedBundle,
  options: ApplicationOptions,
  executorFactory: (handlers: ExecutorHandlers) => Promise<Executor>,
): Application {
  return applicationOf<Executor, Required<ExecutorHandlers>>(options, {
    bundle,
    endpointOf: (_, onWorkerLost) => new FixedEndpoint(bundle, options, onWorkerLost),
    executorFactory,
  });
}

class FixedEndpoint implements ServedEndpoint<Executor, ExecutorHandlers>, EndpointModel {
  readonly models: readonly EndpointModel[] = [this];
  readonly signature: ModelSignature;
  readonly metrics: RequestMetrics;
  readonly fastestMs: number;
  readonly handlers: Required<ExecutorHandlers>;
  readonly started: Promise<void>;
  readonly #bundle: FixedBundle;
  readonly #nowMs: () => number;
  readonly bundleSha256: string;
  readonly watched: Watched;
  readonly #cluster: FixedCluster;
  readonly #record: (entry: RecordedEntry) => void;
  readonly #up = new Set<number>();
  readonly #rows = new Map<number, { readonly request: PendingRequest; readonly row: number }>();
  #executor: Executor | undefined;
  #queries = 0;

  constructor(
    bundle: FixedBundle,
    { nowMs, bundleSha256, recorder = () => {} }: ApplicationOptions,
    onWorkerLost: (w: number, r: string) => void,
  ) {
    const [task] = bundle.tasks;
    const names = [...new Set([bundle.application, task?.name ?? ""])];
    this.signature = { names, ...taskTensors(task?.variants ?? []), answersByRow: true };
    this.metrics = new RequestMetrics(bundle.application);
    this.fastestMs = task?.variants[0]?.latencyMs.data[0] ?? 0;
    this.#bundle = bundle;
    this.#nowMs = nowMs;
    this.#record = recorder;
    this.bundleSha256 = bundleSha256;
    this.watched = {
      times: new ServiceTimes(
        {
          sloMs: bundle.slo.latencyMs,
          variants: [],
          kindLabels: () => ({}),
          profiled: () => undefined,
        },
        nowMs,
      ),
      arrivals: new ArrivalCounts(bundle.slo.latencyMs, nowMs),
      reading: () => ({
        bundleSha256,
        compiled: bundle.arrivals,
        loadQps: Number.NaN,
        topLevelQps: bundle.levels.at(-1)?.loadQps ?? 0,
        pace: 1,
        promised: undefined,
        rows: { satisfied: 0, late: 0, dropped: 0 },
        accuracySum: 0,
      }),
    };
    this.#cluster = new FixedCluster(bundle.levels.at(-1)?.batch ?? 1);
    let settleStarted: () => void = () => {};
    this.started = new Promise((resolve) => {
      settleStarted = resolve;
    });
    const onReady = (worker: number) => {
      this.#up.add(worker);
      this.#free(worker);
      if (this.isReady) settleStarted();
      this.#start();
    };
    const onLost = (worker: number, reason: string) => {
      this.#up.delete(worker);
      this.#record({ kind: "lost", worker, nowMs: nowMs() });
      this.#cluster.onLost(worker);
      onWorkerLost(worker, reason);
    };
    const onReplaced = (worker: number, reason: string) => {
      onLost(worker, reason);
      onReady(worker);
    };
    const onRetried = () => {};
    this.handlers = { onReady, onLost, onReplaced, onRetried };
  }

  get bundle(): Bundle {
    return this.#bundle;
  }

  get isReady(): boolean {
    return this.#up.size === pooledWorkers(this.#bundle);
  }

  attach(executor: Executor): void {
    this.#executor = executor;
  }

  onRejected() {}

  submit(rows: RequestRows, deadlineMs: number) {
    const { promise, resolve } =
      withResolvers<Parameters<ConstructorParameters<typeof PendingRequest>[3]>[0]>();
    const times = { arrivalMs: this.#nowMs(), deadlineMs };
    const request = new PendingRequest(this.signature, rows, times, resolve);
    for (let row = 0; row < rows.rows; row++) {
      this.#rows.set(this.#queries, { request, row });
      const query = this.#queries++;
      this.#record({ kind: "query", query, nowMs: times.arrivalMs });
      this.#cluster.onArrival(query);
    }
    this.#start();
    return { outcome: promise, cancel: () => request.fail("cancelled", "the client has gone") };
  }

  metricLines(): MetricLine[] {
    const waiting = metric("stratagem_pending_queries", "gauge", "Rows", this.#rows.size);
    const labels = { application: this.#bundle.application, sha256: this.bundleSha256 };
    const info = metric("stratagem_bundle_info", "gauge", "The bundle", 1, labels);
    return [...RequestMetrics.tritonLines([this.metrics]), ...waiting, ...info];
  }

  replaceBundle(bundle: Bundle): string {
    const difference = bundleDifference(this.#bundle, bundle, ["slo", "cluster", "tasks"]);
    return `it has another ${difference ?? "batch"}`;
  }

  drain(): void {}

  abort(): void {
    for (const { request } of this.#rows.values()) request.fail("closed", "the server closes");
  }

  #free(worker: number): void {
    this.#record({ kind: "free", worker, nowMs: this.#nowMs() });
    this.#cluster.onFree(worker);
  }

  #start(): void {
    this.#record({ kind: "next", nowMs: this.#nowMs() });
    for (let start = this.#cluster.next(); start !== null; start = this.#cluster.next()) {
      this.#record({ kind: "start-batch", ...start });
      void this.#run(start);
    }
  }

  /** Never rejects. */
  async #run({ worker, queries }: FixedStart): Promise<void> {
    const rows = queries.flatMap((query) => this.#rows.get(query) ?? []);
    const startMs = this.#nowMs();
    for (const { request } of rows) request.startMs = startMs;
    const inputs = this.signature.inputs.map((_, input) =>
      rows.flatMap(({ request, row }) => {
        const bounds = request.inputBounds[input];
        return request.inputs[input]?.subarray(bounds?.[row], bounds?.[row + 1]) ?? [];
      }),
    );
    try {
      const result = await this.#executor?.run(worker, { variant: 0, rows: rows.length, inputs });
      if (result !== undefined) this.#answer(rows, result, startMs);
      this.#free(worker);
    } catch (error) {
      const isRefused = error instanceof InferenceError;
      for (const { request } of rows) {
        request.fail(isRefused ? "inference" : "worker-lost", String(error));
      }
      if (isRefused) this.#free(worker);
    }
    for (const query of queries) this.#rows.delete(query);
    this.#start();
  }

  #answer(
    rows: readonly { readonly request: PendingRequest; readonly row: number }[],
    result: BatchResult,
    startMs: number,
  ): void {
    const nowMs = this.#nowMs();
    const times = { inputMs: 0, inferMs: nowMs - startMs, outputMs: 0 };
    this.metrics.onBatchDone({ rows: rows.length }, times);
    const outputs = result.outputs.flatMap(
      (output, index) => rowedOutput(this.signature, index, output, rows.length) ?? [],
    );
    for (const [index, { request, row }] of rows.entries()) {
      if (request.isSettled) continue;
      request.variantByRow[row] = 0;
      request.takeRow(row, outputs, index, nowMs);
    }
  }
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
