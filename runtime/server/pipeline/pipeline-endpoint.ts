import { isDeepStrictEqual } from "node:util";
import type { Bundle, LokiBundle } from "../../bundle/schema.ts";
import { pipelineDispatcherOf } from "../../core/pipeline/loki-dispatcher.ts";
import type { AssignedExecutor, AssignedExecutorHandlers } from "../../exec/executor.ts";
import type { Endpoint } from "../endpoint.ts";
import type { RequestRows, Submission } from "../request.ts";
import type { AxisNames } from "./output-groups.ts";
import { answererOf } from "./paths.ts";
import { PipelineMetrics } from "./pipeline-metrics.ts";
import type { PipelineRecorder } from "./pipeline-recording.ts";
import { PipelineScheduler } from "./pipeline-scheduler.ts";
import { type PipelineSignature, pipelineSignatureOf } from "./pipeline-signature.ts";

/** Room for what rows of requests become on their way: queries that wait or run, for each row that may be pending. */
const QUERIES_PER_ROW = 16;

export interface PipelineEndpointOptions {
  readonly bundle: LokiBundle;
  readonly bundleSha256: string;
  /** Of each variant of all tasks. */
  readonly axisNames?: readonly AxisNames[] | undefined;
  readonly nowMs: () => number;
  /** Rows of requests that have no answer yet, at most. */
  readonly maxPending: number;
  readonly recorder?: PipelineRecorder | undefined;
  readonly onWorkerLost: (worker: number, reason: string) => void;
}

/** A pipeline as one model: rows for its entry tasks in, the outputs of all tasks out. */
export class PipelineEndpoint implements Endpoint {
  readonly signature: PipelineSignature;
  readonly metrics: PipelineMetrics;
  readonly handlers: Required<AssignedExecutorHandlers>;
  readonly fastestMs: number;
  readonly started: Promise<void>;
  readonly #bundle: LokiBundle;
  readonly #bundleSha256: string;
  readonly #scheduler: PipelineScheduler;

  /** @throws RuntimeError RUNTIME_MODEL if the bundle's models do not fit together. */
  constructor(options: PipelineEndpointOptions) {
    const { bundle, bundleSha256, axisNames, nowMs, maxPending, recorder, onWorkerLost } = options;
    this.signature = pipelineSignatureOf(bundle, axisNames);
    this.metrics = new PipelineMetrics(this.signature);
    this.fastestMs = fastestMs(bundle);
    this.#bundle = bundle;
    this.#bundleSha256 = bundleSha256;
    const queryCapacity = QUERIES_PER_ROW * maxPending;
    const scheduler = new PipelineScheduler({
      signature: this.signature,
      dispatcher: pipelineDispatcherOf(bundle, { queryCapacity }),
      queryCapacity,
      maxPending,
      answererOf: answererOf(bundle, this.signature),
      holdsAllVariants: (task) =>
        bundle.levels.some(({ stages }) => (stages?.[task] ?? null) !== null),
      nowMs,
      recorder,
      observer: this.metrics,
    });
    this.#scheduler = scheduler;
    const onLost = (worker: number, reason: string) => {
      scheduler.onWorkerLost(worker, reason);
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
      onLost,
      onReplaced: (worker, reason) => {
        onLost(worker, reason);
        scheduler.onWorkerReady(worker);
      },
    };
  }

  get isReady(): boolean {
    return this.#scheduler.workers.canServe;
  }

  attach(executor: AssignedExecutor): void {
    this.#scheduler.attach(executor);
  }

  submit(rows: RequestRows, deadlineMs: number): Submission {
    return this.#scheduler.submit(rows, deadlineMs);
  }

  metricsText(): string {
    const scheduler = this.#scheduler;
    const { levels } = this.#bundle;
    return this.metrics.text({
      loadQps: scheduler.loadQps,
      pendingQueries: scheduler.pendingCount,
      readyWorkers: scheduler.workers.readyCount,
      workers: scheduler.workers.workerCount,
      servers: scheduler.servers,
      level: scheduler.level,
      levelCount: levels.length,
      topLevelQps: levels.at(-1)?.loadQps ?? Number.NaN,
      bundleSha256: this.#bundleSha256,
    });
  }

  /** Never: what waits is bound to the plan it was routed by. */
  replaceBundle(bundle: Bundle): string {
    const difference = differenceOf(this.#bundle, bundle);
    if (difference !== null)
      return `it has another ${difference}, which takes a new start of the server`;
    return "the plans of a pipeline are not exchanged while it is served, which takes a new start of the server";
  }

  drain(): void {}

  abort(): void {
    this.#scheduler.abort();
  }
}

function differenceOf(before: LokiBundle, after: Bundle): string | null {
  if (after.method !== "loki") return "method";
  const keys = ["application", "slo", "cluster", "tasks", "leaves", "policy"] as const;
  return keys.find((key) => !isDeepStrictEqual(before[key], after[key])) ?? null;
}

/** Of the longest path, each task with its fastest variant for one query. */
function fastestMs({ tasks }: LokiBundle): number {
  const msToTask: number[] = [];
  for (const { parent, variants } of tasks) {
    const times = variants.flatMap(({ profiles }) =>
      profiles.map(
        (profile) => profile?.serviceTimes.decisionMs.data[0] ?? Number.POSITIVE_INFINITY,
      ),
    );
    const before = parent === null ? 0 : (msToTask[parent] ?? 0);
    msToTask.push(before + Math.min(...times));
  }
  return Math.max(...msToTask);
}
