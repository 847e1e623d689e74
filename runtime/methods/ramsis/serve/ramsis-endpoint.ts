/** The endpoint of one model whose variants are chosen batch by batch. */
import type { MetricLine } from "../../../base/exposition.ts";
import type { Bundle, RamsisBundle } from "../../../bundle/schema.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { Executor, ExecutorHandlers } from "../../../exec/models/executor.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../../../server/applications/limits.ts";
import { ArrivalCounts } from "../../../server/measures/arrival-counts.ts";
import { ramsisCells } from "../../../server/measures/profiled-cells.ts";
import { promisedNow } from "../../../server/measures/promised-now.ts";
import { p99MsOf, ServiceTimes } from "../../../server/measures/service-times.ts";
import type { PromisedNow, Reading, Watched } from "../../../server/measures/watched.ts";
import {
  type NamedCell,
  paceLines,
  type ServedPace,
  servedPace,
} from "../../../server/metrics/served-pace.ts";
import type { Endpoint, EndpointModel } from "../../../server/requests/endpoint.ts";
import type { RequestRows, Submission } from "../../../server/requests/request.ts";
import { RequestClasses } from "../../../server/requests/request-classes.ts";
import { Sequences } from "../../../server/sequences/sequences.ts";
import { type ClientSignature, signatureOf } from "../../../server/tensors/signature.ts";
import type { GenerateLevel } from "../../method.ts";
import { referenceOf } from "../core/policy.ts";
import { classViews } from "../describe/class-level-view.ts";
import { LevelGeneration } from "./level-generation.ts";
import { type GenerationOutcome, Metrics } from "./metrics.ts";
import type { RecordedCommand, RecordedEvent, Recorder } from "./recorded-dispatcher.ts";
import { Scheduler } from "./scheduler.ts";
import { ServedPolicy } from "./served-policy.ts";

const ONE_PRIORITY =
  "expected 0: all requests to this model have the same priority; timeout states an earlier " +
  "deadline, and the method accordion has priorities";
const CLASSES_INSTEAD =
  "expected 0: requests to this model have SLO classes instead of priorities, by slo_class";

interface RamsisEndpointOptions {
  readonly bundle: RamsisBundle;
  readonly bundleSha256: string;
  readonly nowMs: () => number;
  readonly maxPending: number;
  /** Limits of the server. */
  readonly limits?: Partial<ServerLimits> | undefined;
  readonly recorder?: Recorder | undefined;
  readonly onWorkerLost: (worker: number, reason: string) => void;
  readonly generateLevel?: GenerateLevel | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** One model, whose variant is chosen batch by batch. */
export class RamsisEndpoint implements Endpoint, EndpointModel {
  readonly models: readonly EndpointModel[] = [this];
  /** Signature as clients see it. */
  readonly signature: ClientSignature;
  readonly sequences?: Sequences;
  /** Rows per request; a request of a sequence has one. */
  readonly maxRows?: number;
  readonly classes?: RequestClasses;
  readonly metrics: Metrics;
  readonly handlers: Required<ExecutorHandlers>;
  readonly started: Promise<void>;
  readonly watched: Watched;
  readonly #scheduler: Scheduler;
  readonly #policy: ServedPolicy;
  readonly #generation: LevelGeneration | undefined;

  /** @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together. */
  constructor(options: RamsisEndpointOptions) {
    const { bundle, bundleSha256, nowMs, maxPending, recorder, onWorkerLost } = options;
    let signature = { ...signatureOf(bundle), noPriorities: ONE_PRIORITY };
    if (bundle.slo.classes !== undefined) {
      this.classes = new RequestClasses(bundle.slo.classes, signature.names);
      const noPriorities = CLASSES_INSTEAD;
      signature = {
        ...signature,
        noPriorities,
        names: [...signature.names, ...this.classes.modelNames],
      };
    }
    const model = bundle.tasks[0]?.variants[0]?.model;
    if (model?.state === undefined) this.signature = signature;
    else {
      const limits = { ...DEFAULT_LIMITS, ...options.limits, maxPending };
      this.sequences = new Sequences({ signature, model, limits, nowMs });
      this.signature = this.sequences.tensors.signature;
      this.maxRows = 1;
    }
    const { names, variants } = signature;
    const { buckets, slo } = bundle;
    const kinds = (slo.classes ?? buckets ?? []).map(({ name }) => name);
    const label = buckets === undefined ? "slo_class" : "bucket";
    this.metrics = new Metrics(names[0] ?? "", variants, kinds, label);
    const record: Recorder = (entry: RecordedEvent | RecordedCommand) => {
      const isArrival = entry.kind === "arrival" || entry.kind === "joint-arrival";
      if (isArrival || entry.kind === "refused") this.#generation?.onArrival(entry.nowMs);
      recorder?.(entry);
    };
    const times = new ServiceTimes(ramsisCells(bundle), nowMs);
    const arrivals = new ArrivalCounts(bundle.slo.latencyMs, nowMs);
    this.watched = { times, arrivals, reading: () => this.#reading() };
    const scheduler = new Scheduler({
      bundle,
      signature,
      nowMs,
      p99Ms: (variant, rows, bucket) => {
        const { tasks, buckets: served } = this.#policy.bundle;
        const times = served === undefined ? tasks[0] : served[bucket];
        return p99MsOf(times?.serviceTimes, variant, rows);
      },
      maxPending,
      recorder: record,
      observer: this.metrics,
      times,
    });
    this.#scheduler = scheduler;
    this.#policy = new ServedPolicy(bundle, bundleSha256, scheduler);
    this.#generation = generationOf(options, this.#policy, this.metrics);
    let settleStarted: () => void = () => {};
    this.started = new Promise((resolve) => {
      settleStarted = resolve;
    });
    this.handlers = {
      onReady: (worker) => {
        scheduler.onWorkerReady(worker);
        if (this.isReady) settleStarted();
      },
      onLost: (worker, reason, cause) => {
        scheduler.onWorkerLost(worker, reason, cause);
        onWorkerLost(worker, reason);
      },
      onRetried: (_, rows) => this.metrics.onQueryRetried(rows),
      onReplaced: (worker, reason, cause) => {
        scheduler.onWorkerReplaced(worker, reason, cause);
        onWorkerLost(worker, reason);
      },
    };
  }

  get fastestMs(): number {
    return this.#policy.fastestMs;
  }

  get bundle(): Bundle {
    return this.#policy.bundle;
  }

  get bundleSha256(): string {
    return this.#policy.bundleSha256;
  }

  get isReady(): boolean {
    const { readyWorkerCount, shareWorkerCount } = this.#scheduler;
    return readyWorkerCount > 0 && readyWorkerCount >= shareWorkerCount;
  }

  variantMs(variant: number): number {
    return this.#policy.variantMs(variant);
  }

  attach(executor: Executor): void {
    this.#scheduler.attach(executor);
  }

  submit(rows: RequestRows, deadlineMs: number, _isHigh?: boolean, sloClass?: number): Submission {
    this.watched.arrivals.onRows(rows.rows);
    return this.#scheduler.submit(rows, deadlineMs, sloClass);
  }

  isFull(): boolean {
    return this.#scheduler.isFull;
  }

  onRejected(rows: number, sloClass: number): void {
    this.watched.arrivals.onRows(rows);
    this.#scheduler.reject(rows, sloClass);
  }

  metricLines(): MetricLine[] {
    const scheduler = this.#scheduler;
    const policy = this.#policy;
    const lines = this.metrics.lines({
      loadQps: scheduler.loadQps,
      pendingQueries: scheduler.pendingCount,
      readyWorkers: scheduler.readyWorkerCount,
      workers: scheduler.workerCount,
      topLevelQps: policy.topLevel.loadQps,
      bundleSha256: policy.bundleSha256,
      classesAt: (level) => {
        const decided = policy.bundle.levels[level];
        if (decided === undefined) return [];
        return classViews(policy.bundle, decided);
      },
      promisedAt: (level) => {
        const { violationRate, accuracyPerSatisfied = Number.NaN } = this.#promisedNow(level) ?? {};
        return { violationRate, accuracyPerSatisfied };
      },
    });
    const pace = paceLines(this.pace);
    const times = this.watched.times.lines();
    return [...lines, ...pace, ...times, ...(this.sequences?.lines() ?? [])];
  }

  get pace(): ServedPace {
    const { bundle } = this.#policy;
    return servedPace(this.#scheduler.pace, bundle.cluster.pools, cellsOf(bundle));
  }

  #promisedNow(level: number): PromisedNow | undefined {
    const { loadQps, pace } = this.#scheduler;
    return promisedNow(this.#policy.bundle, { level, loadQps, pace: pace.stretch });
  }

  #reading(): Reading {
    const { bundle, bundleSha256, topLevel } = this.#policy;
    const { level, rows, accuracySum } = this.metrics;
    return {
      bundleSha256,
      compiled: bundle.arrivals,
      loadQps: this.#scheduler.loadQps,
      topLevelQps: topLevel.loadQps,
      pace: this.#scheduler.pace.stretch,
      promised: this.#promisedNow(level),
      rows,
      accuracySum,
    };
  }

  replaceBundle(bundle: Bundle, bundleSha256: string): string | null {
    const refusal = this.#policy.replace(bundle, bundleSha256);
    if (refusal !== null) return refusal;
    this.#generation?.onPolicyReplaced();
    this.watched.times.follow(ramsisCells(this.#policy.bundle));
    // The shares of the load are all that may have changed about them.
    if (this.classes !== undefined) this.classes.stated = bundle.slo.classes ?? [];
    return refusal;
  }

  share(share: LoadShare): void {
    this.#scheduler.share(share);
  }

  seenLoad(): SeenLoad {
    return this.#scheduler.seenLoad();
  }

  drain(): void {
    this.#generation?.close();
    this.sequences?.drain();
  }

  abort(): void {
    this.#scheduler.abort();
  }
}

/** Cells are for batch sizes from one power of two to the next. */
function cellsOf(bundle: RamsisBundle): NamedCell[] {
  const reference = referenceOf(bundle, "measured");
  const [task] = bundle.tasks;
  const maxBatch = task?.serviceTimes.decisionMs.shape[1] ?? 0;
  const cells: NamedCell[] = [];
  for (const [index, { name: variant }] of (task?.variants ?? []).entries()) {
    for (let batch = 1; batch <= maxBatch; batch *= 2) {
      cells.push({ cell: reference.cellOf(index, batch), variant, batch });
    }
  }
  return cells;
}

function generationOf(
  { generateLevel, onNotice = () => {} }: RamsisEndpointOptions,
  policy: ServedPolicy,
  metrics: Metrics,
): LevelGeneration | undefined {
  if (generateLevel === undefined) return undefined;
  const onDone = (outcome: GenerationOutcome) => metrics.onGenerationDone(outcome);
  return new LevelGeneration({ policy, generateLevel, onDone, onNotice });
}
