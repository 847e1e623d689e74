/** Drives a pipeline's dispatcher on the wall clock. */
import { assert } from "../../core/assert.ts";
import type { PathTimes } from "../../core/decision-slo.ts";
import type { LoadShare, SeenLoad } from "../../core/load-share.ts";
import type { PaceMonitor } from "../../core/pace.ts";
import { type AssignedExecutor, WorkerLostError } from "../../exec/models/executor.ts";
import type { LossCause } from "../../exec/models/scaler.ts";
import type { ServiceTimes } from "../measures/service-times.ts";
import { type BatchOwner, BatchRuns, pacedMs } from "../requests/batch-runs.ts";
import type { RequestRows, Submission } from "../requests/request.ts";
import { BatchEnds } from "./batch-ends.ts";
import type { Forecasts } from "./forecasts.ts";
import { OpenRequests } from "./open-requests.ts";
import type { PipelineObserver } from "./pipeline-observer.ts";
import type { PipelineCommand, PipelineRecorder } from "./pipeline-recording.ts";
import { QuerySlots } from "./query-slots.ts";
import { RecordedDispatcher, type ServedDispatcher } from "./recorded-dispatcher.ts";
import { RequestEntry } from "./request-entry.ts";
import { batchInputs } from "./requests/batch-tensors.ts";
import type { Courses } from "./requests/course.ts";
import type { AnswererOf } from "./requests/pipeline-request.ts";
import { runBySize } from "./requests/row-sizes.ts";
import { type RunningBatch, startedBatch } from "./running-batch.ts";
import type { ServedPipeline } from "./served-pipeline.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";
import { WorkerModels } from "./worker-models.ts";
import { marked } from "./worker-orders.ts";

interface PipelineSchedulerOptions {
  readonly signature: PipelineSignature;
  /** New dispatcher of the bundle, with a capacity of `queryCapacity` queries. */
  readonly dispatcher: ServedDispatcher;
  /** Maximum number of queries of all tasks that wait or run. */
  readonly queryCapacity: number;
  /** Maximum number of rows in unanswered requests. */
  readonly maxPending: number;
  readonly answererOf: AnswererOf;
  readonly courses: Courses;
  /** Whether a worker of a task holds all its variants, for batches that choose among them. */
  readonly holdsAllVariants: (task: number) => boolean;
  /** Same as in `ServedPipeline`. Default: all batches have the same time. */
  readonly p99Ms?: ServedPipeline["p99Ms"] | undefined;
  /** Default: the dispatcher takes no forecasts, or makes its own. */
  readonly forecasts?: Forecasts | undefined;
  /** Times of the request path that deadlines include. Default: none. */
  readonly path?: PathTimes | undefined;
  readonly nowMs: () => number;
  readonly recorder?: PipelineRecorder | undefined;
  readonly observer: PipelineObserver;
  /** Receives the times of batches. Default: no measurement. */
  readonly times?: ServiceTimes | undefined;
  /** Which kind of place a worker is to its profile; of cores where workers have several. */
  readonly kindOf?: ServedPipeline["kindOf"] | undefined;
}

/**
 * Drives a pipeline's dispatcher on the wall clock. The rows of requests become queries of the
 * entry tasks; the outputs of a batch become queries of the next tasks; a request is answered when
 * none of its queries waits or runs.
 * A query has a slot until its batch is over, and slots are limited. A lost, dropped or rejected
 * query fails its request at once; the other queries of that request are withdrawn, or their
 * results are discarded.
 */
export class PipelineScheduler {
  readonly #options: PipelineSchedulerOptions;
  readonly #dispatcher: RecordedDispatcher;
  readonly #slots: QuerySlots;
  readonly #models: WorkerModels;
  readonly #requests: OpenRequests;
  readonly #entry: RequestEntry;
  readonly #runs: BatchRuns<RunningBatch>;
  readonly #ends: BatchEnds;
  #executor: AssignedExecutor | undefined;
  #lastMs = 0;

  constructor(options: PipelineSchedulerOptions) {
    const { signature, dispatcher: decides, queryCapacity, recorder, observer } = options;
    const { courses, path, times, answererOf, maxPending } = options;
    const onWake = () => this.#wake();
    const dispatcher = new RecordedDispatcher({
      ...{ dispatcher: decides, queryCapacity, recorder, onWake },
    });
    const slots = new QuerySlots(queryCapacity);
    const requests = new OpenRequests({ signature, slots, dispatcher, observer, path });
    const { workerCount } = decides;
    const nowMs = () => this.#now();
    this.#options = options;
    this.#dispatcher = dispatcher;
    this.#slots = slots;
    this.#requests = requests;
    this.#models = new WorkerModels(workerCount, signature.tasks.length, signature.variants);
    const around = {
      ...{ signature, courses, slots, requests, dispatcher, path, observer, nowMs },
      carryOut: (commands: readonly PipelineCommand[], ms: number) => this.#carryOut(commands, ms),
      startBatches: (ms: number) => this.#startBatches(ms),
    };
    const entry = new RequestEntry({ ...around, answererOf, maxPending });
    this.#entry = entry;
    this.#ends = new BatchEnds({ ...around, handIn: (...next) => entry.handIn(...next) });
    this.#runs = new BatchRuns({ workerCount, owner: this.#batchOwner(), nowMs, times });
  }

  get workers(): Pick<
    WorkerModels,
    "workerCount" | "readyCount" | "canServe" | "isAssigned" | "countsByVariant"
  > {
    return this.#models;
  }

  /** Smoothed demand, requests per second; NaN until it is known. */
  get loadQps(): number {
    return this.#dispatcher.loadQps(this.#now());
  }

  /** The pace of the workers; undefined where the method does not measure it. */
  get pace(): PaceMonitor | undefined {
    return this.#dispatcher.pace;
  }

  /** Queries of all tasks that wait or run. */
  get pendingCount(): number {
    return this.#slots.usedCount;
  }

  /** Index of the level that is followed. */
  get level(): number {
    return this.#dispatcher.level;
  }

  /** Workers that the plan uses. */
  get servers(): number {
    return this.#dispatcher.servers;
  }

  /** Gives the scheduler its executor, once; no worker is ready before. */
  attach(executor: AssignedExecutor): void {
    assert(this.#executor === undefined, "a scheduler has one executor");
    this.#executor = executor;
  }

  /**
   * @param deadlineMs the client's deadline; decisions reserve time for the request path.
   * @param bucket sizes that its rows were padded to.
   */
  submit(rows: RequestRows, deadlineMs: number, bucket = 0): Submission {
    return this.#entry.submit(rows, deadlineMs, this.#now(), bucket);
  }

  /** A request was refused at the listener: its rows count as demand. */
  reject(rows: number): void {
    const nowMs = this.#now();
    for (let row = 0; row < rows; row++) this.#dispatcher.onRequest(nowMs);
    this.#options.observer.onRowsDone("dropped", rows);
  }

  onWorkerReady(worker: number): void {
    if (this.#models.isUp(worker)) return;
    const nowMs = this.#now();
    this.#models.up(worker);
    this.#carryOut(this.#dispatcher.onWorkerReady(worker, nowMs), nowMs);
  }

  /** @param loads models that it had to load. */
  onModelReady(worker: number, loads: number): void {
    if (!this.#models.isUp(worker) || !this.#models.hold(worker)) return;
    const nowMs = this.#now();
    if (loads > 0) this.#runs.onFresh(worker);
    this.#carryOut(this.#dispatcher.onModelReady(worker, nowMs), nowMs);
  }

  /** Called when the cores requested last are in force; the worker's next batch runs on them. */
  onResized(worker: number): void {
    if (!this.#models.isUp(worker) || !this.#models.isAssigned(worker)) return;
    const nowMs = this.#now();
    this.#models.resized(worker);
    this.#carryOut(this.#dispatcher.onResized(worker, nowMs), nowMs);
  }

  onWorkerLost(worker: number, reason: string, cause: LossCause = "ended"): void {
    if (!this.#models.isUp(worker)) return;
    const nowMs = this.#now();
    this.#models.down(worker);
    this.#options.observer.onWorkerLost(cause);
    const batches = this.#runs.takeAll(worker);
    this.#carryOut(this.#dispatcher.onWorkerLost(worker, nowMs), nowMs);
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /** Sets this front end's share among several. */
  share(share: LoadShare): void {
    this.#dispatcher.onShare(share, this.#now());
  }

  /** Load seen by this front end, for the other front ends. */
  seenLoad(): SeenLoad {
    return this.#dispatcher.seenLoad(this.#now());
  }

  /** Fails every request that is still open. */
  abort(): void {
    this.#dispatcher.stop();
    this.#requests.failAll("closed", "the server has stopped");
  }

  /**
   * Marks all that the commands are about before acting on any: what is done may bring the next
   * event.
   */
  #carryOut(commands: readonly PipelineCommand[], nowMs: number): void {
    if (commands.length === 0) return;
    const acts = commands.map((command) => this.#actOf(command, nowMs));
    for (const act of acts) act();
  }

  #actOf(command: PipelineCommand, nowMs: number): () => void {
    if (command.kind === "drop") return () => this.#requests.drop(command.query, command.reason);
    const { signature, observer, holdsAllVariants } = this.#options;
    if (command.kind !== "start-batch") {
      const executor = this.#executor;
      return marked(command, { models: this.#models, signature, holdsAllVariants, executor });
    }
    const queries = command.queries.map((slot) => this.#slots.query(slot));
    const batch = startedBatch(command, queries, signature, nowMs, this.pace);
    this.#runs.start(batch);
    observer.onBatchStart(batch);
    return () => this.#run(batch);
  }

  #wake(nowMs = this.#now()): void {
    this.#carryOut(this.#dispatcher.onTimer(nowMs), nowMs);
    this.#options.forecasts?.follow((qps) => this.#dispatcher.onForecast(qps));
  }

  /** Once all queries of an event are handed in. */
  #startBatches(nowMs: number): void {
    if (nowMs >= this.#dispatcher.wakeMs) this.#wake(nowMs);
  }

  #run(batch: RunningBatch): void {
    const { worker, variant, rows, deadlineMs } = batch;
    // The worker was lost while an earlier command was executed.
    if (!this.#runs.isComputing(batch)) return;
    assert(this.#executor !== undefined, "workers are ready once there is an executor");
    const executor = this.#executor;
    const { signature, p99Ms: p99MsOf, kindOf } = this.#options;
    const queries = batch.queries.map((slot) => this.#slots.query(slot));
    const served = at(signature.variants, variant);
    const cores = this.#models.leastCores(worker);
    const p99Ms = pacedMs(p99MsOf?.(variant, rows, worker, cores), batch);
    batch.kind = kindOf?.(worker, cores) ?? 0;
    const bucket = queries[0]?.bucket ?? 0;
    const isOneSize = queries.every((query) => query.bucket === bucket);
    // Profiles of tasks are of the largest sizes.
    if (!isOneSize || bucket < at(signature.tasks, served.task).largestBucket) batch.kind = -1;
    if (isOneSize) {
      const inputs = batchInputs(served, queries);
      const whole = { variant, rows, bucket, inputs, p99Ms, deadlineMs };
      this.#runs.hand(batch, (onComputed) => executor.run(worker, whole, onComputed));
    } else {
      const isOpen = () => this.#runs.isComputing(batch);
      const mixed = { worker, variant, queries, isOpen, p99Ms, deadlineMs };
      this.#runs.hand(batch, (onComputed) => runBySize(executor, served, mixed, onComputed));
    }
    for (const { request } of queries) {
      if (Number.isNaN(request.handedMs)) request.handedMs = batch.handedMs;
    }
  }

  #batchOwner(): BatchOwner<RunningBatch> {
    const { observer } = this.#options;
    return {
      onIdle: (worker, nowMs, ranMs) => {
        this.#carryOut(this.#dispatcher.onBatchDone(worker, nowMs, ranMs), nowMs);
      },
      onComputed: (nowMs) => this.#startBatches(nowMs),
      onResult: (batch, result, nowMs) => this.#ends.answer(batch, result, nowMs),
      onDone: (batch, times) => observer.onBatchDone(batch, times),
      onRowsRefused: (batch, error) => this.#ends.refuseRows(batch, error),
      onFailed: (batch, message) => this.#ends.fail(batch, message),
      onLost: (batch, message) => this.#ends.lose(batch, message),
    };
  }

  #loseBatches(batches: readonly RunningBatch[], { message }: WorkerLostError): void {
    for (const batch of batches) this.#ends.lose(batch, message);
  }

  #now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#options.nowMs());
    return this.#lastMs;
  }
}
