/** Drives a pipeline's dispatcher on the wall clock. */
import { assert } from "../../core/assert.ts";
import { DROP_LATE, DROP_NO_WORKER } from "../../core/command-buffer.ts";
import type { PathTimes } from "../../core/decision-slo.ts";
import { NO_PARENT } from "../../core/graph/pipeline-dispatcher.ts";
import type { LoadShare, SeenLoad } from "../../core/load-share.ts";
import { mayTryAgain } from "../../core/second-try.ts";
import {
  type AssignedExecutor,
  type BatchResult,
  RowsRefusedError,
  WorkerLostError,
} from "../../exec/executor.ts";
import type { ServiceTimes } from "../drift/service-times.ts";
import { type BatchRun, lostRun } from "../requests/batch-run.ts";
import {
  type FailureReason,
  GIVEN_UP,
  type Outcome,
  type RequestRows,
  type Submission,
} from "../requests/request.ts";
import { WorkerBatches } from "../requests/worker-batches.ts";
import { batchInputs, type CutOutput, cutOutputs, misfit } from "./batch-tensors.ts";
import { type Course, type Courses, NO_ROOM } from "./course.ts";
import type { Forecasts } from "./forecasts.ts";
import type { PipelineObserver, StartedBatch } from "./pipeline-observer.ts";
import type { PipelineCommand, PipelineRecorder } from "./pipeline-recording.ts";
import { type AnswererOf, type PipelineQuery, PipelineRequest } from "./pipeline-request.ts";
import { at, type PipelineSignature } from "./pipeline-signature.ts";
import { QuerySlots } from "./query-slots.ts";
import { RecordedDispatcher, type ServedDispatcher } from "./recorded-dispatcher.ts";
import type { ServedPipeline } from "./served-pipeline.ts";
import { WorkerModels } from "./worker-models.ts";

export interface PipelineSchedulerOptions {
  readonly signature: PipelineSignature;
  /** Of the bundle, with room for `queryCapacity` queries; nothing has been told to it. */
  readonly dispatcher: ServedDispatcher;
  /** Queries of all tasks that wait or run at most. */
  readonly queryCapacity: number;
  /** Rows of requests that have no answer yet, at most. */
  readonly maxPending: number;
  readonly answererOf: AnswererOf;
  readonly courses: Courses;
  /** Whether a worker of a task holds all its variants, for batches that choose among them. */
  readonly holdsAllVariants: (task: number) => boolean;
  /** As of `ServedPipeline`; left out, workers have the time that any batch has. */
  readonly p99Ms?: ServedPipeline["p99Ms"] | undefined;
  /** Left out where the dispatcher takes no forecasts, or makes its own. */
  readonly forecasts?: Forecasts | undefined;
  /** What the way of requests has of their deadlines; left out for nothing. */
  readonly path?: PathTimes | undefined;
  readonly nowMs: () => number;
  readonly recorder?: PipelineRecorder | undefined;
  readonly observer: PipelineObserver;
  /** Told what batches take; left out where nobody asks. */
  readonly times?: ServiceTimes | undefined;
  /** Which kind of place a worker is to its profile; of cores where workers have several. */
  readonly kindOf?: ServedPipeline["kindOf"] | undefined;
}

interface RunningBatch extends StartedBatch, BatchRun {
  readonly slots: readonly number[];
  readonly startMs: number;
  /** When its worker had it. */
  handedMs: number;
  /** Of place, as the profile tells them apart. */
  kind: number;
  /** Workers that computed, its own included, when it started, or when it was over if more. */
  busyWorkers: number;
}

type StartBatch = Extract<PipelineCommand, { readonly kind: "start-batch" }>;

/**
 * The driver of a pipeline's dispatcher on the wall clock. The rows of requests become queries of
 * the entry tasks; what comes out of a batch becomes queries of the tasks behind it; a request is
 * answered when nothing of it waits or runs.
 *
 * A query has a slot until its batch is over, and slots are limited. What was lost, dropped or
 * refused fails its request at once; the rest of that request is taken back or, where it runs,
 * thrown away.
 */
export class PipelineScheduler {
  readonly #options: PipelineSchedulerOptions;
  readonly #signature: PipelineSignature;
  readonly #dispatcher: RecordedDispatcher;
  readonly #observer: PipelineObserver;
  readonly #slots: QuerySlots;
  readonly #models: WorkerModels;
  readonly #batches: WorkerBatches<RunningBatch>;
  /** Those that are open. */
  readonly #courseByRequest = new Map<PipelineRequest, Course>();
  readonly #courses: Courses;
  #executor: AssignedExecutor | undefined;
  #pendingRows = 0;
  #level: number;
  #lastMs = 0;

  constructor(options: PipelineSchedulerOptions) {
    const { signature, dispatcher, queryCapacity, recorder } = options;
    this.#options = options;
    this.#signature = signature;
    this.#dispatcher = new RecordedDispatcher({
      dispatcher,
      queryCapacity,
      recorder,
      onWake: () => this.#wake(),
    });
    this.#observer = options.observer;
    this.#courses = options.courses;
    this.#slots = new QuerySlots(queryCapacity);
    const { workerCount } = dispatcher;
    this.#models = new WorkerModels(workerCount, signature.tasks.length, signature.variants);
    this.#batches = new WorkerBatches(workerCount);
    this.#level = dispatcher.level;
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

  /** @param deadlineMs as the client has it; decisions leave time for the way before it. */
  submit(rows: RequestRows, deadlineMs: number): Submission {
    let settle: (outcome: Outcome) => void = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      settle = resolve;
    });
    const { answererOf, path } = this.#options;
    const signature = this.#signature;
    const arrivalMs = this.#now();
    const times = { arrivalMs, deadlineMs: deadlineMs - (path?.marginMs ?? 0) };
    const request = new PipelineRequest({ signature, answererOf, rows, ...times, settle });
    const course = this.#courses.courseOf(request);
    this.#courseByRequest.set(request, course);
    this.#pendingRows += request.rows;
    this.#arrive(request, course, arrivalMs);
    return { outcome, cancel: (why = "cancelled") => this.#fail(request, why, GIVEN_UP[why]) };
  }

  /** A request was refused at the door: its rows count as demand. */
  turnAway(rows: number): void {
    const nowMs = this.#now();
    for (let row = 0; row < rows; row++) this.#dispatcher.onRequest(nowMs);
    this.#observer.onRowsDone("dropped", rows);
  }

  onWorkerReady(worker: number): void {
    if (this.#models.isUp(worker)) return;
    const nowMs = this.#now();
    this.#models.up(worker);
    this.#carryOut(this.#dispatcher.onWorkerReady(worker, nowMs), nowMs);
  }

  /** @param loads models that it had to load. */
  onModelReady(worker: number, loads: number): void {
    this.#observer.onModelsLoaded(loads);
    if (!this.#models.isUp(worker) || !this.#models.hold(worker)) return;
    const nowMs = this.#now();
    this.#carryOut(this.#dispatcher.onModelReady(worker, nowMs), nowMs);
  }

  /** The next batch of the worker runs on the cores that were asked for last. */
  onResized(worker: number): void {
    if (!this.#models.isUp(worker) || !this.#models.isAssigned(worker)) return;
    const nowMs = this.#now();
    this.#models.resized(worker);
    this.#carryOut(this.#dispatcher.onResized(worker, nowMs), nowMs);
  }

  onWorkerLost(worker: number, reason: string, isHung = false): void {
    if (!this.#models.isUp(worker)) return;
    const nowMs = this.#now();
    this.#models.down(worker);
    this.#observer.onWorkerLost(isHung);
    const batches = this.#batches.endAll(worker);
    this.#carryOut(this.#dispatcher.onWorkerLost(worker, nowMs), nowMs);
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /** Is one of several front ends from now on. */
  share(share: LoadShare): void {
    this.#dispatcher.onShare(share, this.#now());
  }

  /** What is seen here, to tell the other front ends. */
  seenLoad(): SeenLoad {
    return this.#dispatcher.seenLoad(this.#now());
  }

  /** Fails every request that is still open. */
  abort(): void {
    this.#dispatcher.stop();
    for (const request of [...this.#courseByRequest.keys()]) {
      this.#fail(request, "closed", "the server has stopped");
    }
  }

  /**
   * Every row is a request to the dispatcher, and counts as demand even if another row of the
   * client's request is refused.
   */
  #arrive(request: PipelineRequest, course: Course, nowMs: number): void {
    let isAdmitted = true;
    for (let row = 0; row < request.rows; row++) {
      isAdmitted = this.#dispatcher.onRequest(nowMs) && isAdmitted;
    }
    if (!isAdmitted) {
      this.#fail(request, "shed", "the load is beyond the capacity of the pipeline");
      return;
    }
    const isFull = this.#pendingRows > this.#options.maxPending;
    const queries = isFull ? [] : course.begin();
    if (typeof queries === "string") {
      this.#fail(request, "inference", queries);
      return;
    }
    if (isFull || queries.length > this.#slots.freeCount) {
      this.#fail(request, "queue-full", `${this.#slots.usedCount} queries wait or run`);
      return;
    }
    request.expect(queries.length);
    for (const query of queries) this.#handIn(query, NO_PARENT, nowMs);
    this.#startBatches(nowMs);
    // No row may have an entry.
    this.#answerIfDone(request, course, nowMs);
  }

  /** A query that is dropped fails its request, and the queries after it need not come. */
  #handIn(query: PipelineQuery, parent: number, nowMs: number): void {
    const { request, task } = query;
    if (request.isSettled) return;
    if (this.#slots.freeCount === 0) {
      this.#fail(request, "queue-full", `${this.#slots.usedCount} queries wait or run`);
      return;
    }
    const { deadlineMs } = request;
    query.sinceMs = nowMs;
    const slot = this.#slots.take(query);
    this.#carryOut(this.#dispatcher.onQuery(slot, task, parent, deadlineMs, nowMs), nowMs);
  }

  /**
   * Marks all that the commands are about before acting on any: what is done may bring the next
   * event.
   */
  #carryOut(commands: readonly PipelineCommand[], nowMs: number): void {
    this.#noticeLevel();
    if (commands.length === 0) return;
    const acts = commands.map((command) => this.#actOf(command, nowMs));
    for (const act of acts) act();
  }

  #actOf(command: PipelineCommand, nowMs: number): () => void {
    if (command.kind === "drop") return () => this.#drop(command.query, command.reason);
    const { worker } = command;
    if (command.kind === "assign") {
      this.#models.assign(worker, command.variant, command.cores);
      const variants = this.#variantsFor(command.variant);
      return () => this.#executor?.assign(worker, variants, command.cores);
    }
    if (command.kind === "resize") {
      this.#models.resize(worker, command.cores);
      return () => this.#executor?.resize(worker, command.cores);
    }
    if (command.kind === "release") {
      this.#models.release(worker);
      return () => this.#executor?.release(worker);
    }
    const batch = this.#startedBatch(command, nowMs);
    return () => this.#run(batch);
  }

  #noticeLevel(): void {
    const { level } = this.#dispatcher;
    if (level === this.#level) return;
    this.#level = level;
    this.#observer.onPlanSwitch();
  }

  /** What a worker loads that is assigned a variant. */
  #variantsFor(variant: number): number[] {
    const { variants } = this.#signature;
    const { task } = at(variants, variant);
    if (!this.#options.holdsAllVariants(task)) return [variant];
    return [...variants.keys()].filter((other) => at(variants, other).task === task);
  }

  #wake(nowMs = this.#now()): void {
    this.#carryOut(this.#dispatcher.onTimer(nowMs), nowMs);
    this.#options.forecasts?.follow((qps) => this.#dispatcher.onForecast(qps));
  }

  /** Once all queries of an event are handed in. */
  #startBatches(nowMs: number): void {
    if (nowMs >= this.#dispatcher.wakeMs) this.#wake(nowMs);
  }

  #startedBatch(command: StartBatch, nowMs: number) {
    const { worker, variant, level, queued, queries: slots } = command;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const slot of slots) {
      const query = this.#slots.query(slot);
      query.variant = variant;
      const { request } = query;
      if (Number.isNaN(request.startMs)) request.startMs = nowMs;
      earliestMs = Math.min(earliestMs, request.deadlineMs);
    }
    const slackMs = earliestMs - nowMs;
    const { name: variantName, task } = at(this.#signature.variants, variant);
    const batch: RunningBatch = {
      worker,
      task: at(this.#signature.tasks, task).name,
      variant,
      variantName,
      level,
      rows: slots.length,
      queued,
      slackMs,
      slots,
      startMs: nowMs,
      handedMs: nowMs,
      kind: 0,
      busyWorkers: 0,
      endMs: Number.NaN,
      wallMs: Number.NaN,
    };
    this.#batches.start(batch);
    this.#observer.onBatchStart(batch);
    return batch;
  }

  #run(batch: RunningBatch): void {
    const { worker, variant, rows, slots } = batch;
    // Its worker was lost while an earlier command was carried out.
    if (!this.#batches.isComputing(batch)) return;
    assert(this.#executor !== undefined, "workers are ready once there is an executor");
    const executor = this.#executor;
    const queries = slots.map((slot) => this.#slots.query(slot));
    const inputs = batchInputs(at(this.#signature.variants, variant), queries);
    // Inside an async function, so that an executor that throws at once rejects as well.
    const cores = this.#models.leastCores(worker);
    const p99Ms = this.#options.p99Ms?.(variant, rows, worker, cores);
    batch.kind = this.#options.kindOf?.(worker, cores) ?? 0;
    batch.busyWorkers = this.#batches.busyCount;
    const onComputed = () => this.#onComputed(batch);
    const run = async () => executor.run(worker, { variant, rows, inputs, p99Ms }, onComputed);
    run().then(
      (result) => this.#onResult(batch, result),
      (error: unknown) => this.#onRefused(batch, error),
    );
    batch.handedMs = this.#now();
    for (const { request } of queries) {
      if (Number.isNaN(request.handedMs)) request.handedMs = batch.handedMs;
    }
  }

  /**
   * The worker is free; the answer is on its way. What waits is decided now, so that the worker has
   * its next batch when it has written this answer.
   */
  #onComputed(batch: RunningBatch): void {
    if (!this.#batches.isComputing(batch)) return;
    this.#noteBusy(batch);
    this.#batches.onComputed(batch);
    const nowMs = this.#now();
    this.#tellDone(batch.worker, nowMs);
    this.#startBatches(nowMs);
  }

  #onResult(batch: RunningBatch, result: BatchResult): void {
    if (!this.#batches.isOpen(batch)) return;
    if (this.#batches.isComputing(batch)) this.#noteBusy(batch);
    const doneMs = this.#release(batch);
    batch.endMs = doneMs;
    batch.wallMs = result.wallMs;
    const cutMs = this.#now();
    this.#answerBatch(batch, result, doneMs);
    const { startMs, handedMs } = batch;
    const outputMs = this.#now() - cutMs;
    this.#observer.onBatchDone(batch, {
      inputMs: handedMs - startMs,
      inferMs: doneMs - handedMs,
      outputMs,
    });
    this.#tellTimes(batch, doneMs);
  }

  #noteBusy(batch: RunningBatch): void {
    batch.busyWorkers = Math.max(batch.busyWorkers, this.#batches.busyCount);
  }

  #tellTimes(batch: RunningBatch, endMs: number): void {
    const { variant, rows, kind, busyWorkers, wallMs: insideMs, handedMs } = batch;
    const aroundMs = endMs - handedMs;
    this.#options.times?.onBatch({ variant, rows, kind, aroundMs, insideMs, endMs, busyWorkers });
  }

  /** Gives the rows of a result to their requests, and to the tasks behind. */
  #answerBatch(batch: RunningBatch, result: BatchResult, nowMs: number): void {
    const variant = at(this.#signature.variants, batch.variant);
    const task = at(this.#signature.tasks, variant.task);
    const cut = cutOutputs(task, variant, result, batch.rows);
    const problem = typeof cut === "string" ? cut : misfit(this.#signature, task, cut);
    if (typeof cut === "string" || problem !== undefined) {
      this.#failBatch(batch, "inference", `${task.name}/${variant.name}: ${problem}`);
      return;
    }
    for (const slot of batch.slots) this.#slots.retire(slot);
    for (const [row, slot] of batch.slots.entries()) this.#handOn(slot, row, cut, batch);
    // Names of queries are free once everything that came out of them is known.
    for (const slot of batch.slots) this.#slots.free(slot);
    this.#startBatches(nowMs);
  }

  /** Gives a query that is done back to its request, and what follows it to the dispatcher. */
  #handOn(slot: number, row: number, cut: readonly CutOutput[], batch: BatchRun): void {
    const nowMs = batch.endMs;
    const query = this.#slots.query(slot);
    const { request } = query;
    const { name, edgesAway } = at(this.#signature.tasks, query.task);
    const sent = this.#courses.sentOf(query.task, cut, row);
    if (typeof sent === "string") {
      const variant = at(this.#signature.variants, query.variant);
      this.#fail(request, "inference", `${name}/${variant.name}: ${sent}`);
      return;
    }
    for (const [index, { child }] of edgesAway.entries()) {
      this.#observer.onFanout(query.variant, child, at(sent, index));
      this.#dispatcher.onFanout(slot, child, at(sent, index));
    }
    const course = this.#courseByRequest.get(request);
    if (course === undefined) return;
    const isLast = sent.every((count) => count === 0);
    request.take(
      query,
      cut.map((output) => output.part(row)),
      isLast,
      batch,
    );
    const next = course.follow(query, sent, cut, row);
    if (next === NO_ROOM) {
      const message = "rows that tasks have made: as many are under way as may be";
      this.#fail(request, "queue-full", message);
      return;
    }
    if (typeof next === "string") {
      this.#fail(request, "inference", next);
      return;
    }
    request.expect(next.length);
    for (const one of next) this.#handIn(one, slot, nowMs);
    this.#answerIfDone(request, course, nowMs);
  }

  #answerIfDone(request: PipelineRequest, course: Course, nowMs: number): void {
    if (request.isSettled) return;
    request.answerIfDone(course, nowMs);
    if (!request.isSettled) return;
    const { rows, accuracy, deadlineMs } = request;
    const lateMs = deadlineMs + (this.#options.path?.graceMs ?? 0);
    this.#observer.onRowsDone(nowMs > lateMs ? "late" : "satisfied", rows, accuracy);
    this.#takeBack(request);
  }

  #onRefused(batch: RunningBatch, error: unknown): void {
    if (!this.#batches.isOpen(batch)) return;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof WorkerLostError) {
      // Where its answer was on its way, what the executor says next has it lost: the dispatcher
      // would try it again on this worker, which it holds for idle.
      if (!this.#batches.isComputing(batch)) return;
      // The worker stays busy for the dispatcher until the executor says that it is gone.
      this.#batches.replace(batch.worker, { ...batch, slots: [] });
      this.#loseBatch(batch, message);
      return;
    }
    this.#release(batch);
    if (error instanceof RowsRefusedError) this.#refuseRows(batch, error);
    else this.#failBatch(batch, "inference", message);
  }

  /** Fails the requests of rows that are at fault; the others of the batch wait again. */
  #refuseRows({ slots }: RunningBatch, { rows, message }: RowsRefusedError): void {
    const nowMs = this.#now();
    for (const row of rows) {
      const slot = slots[row];
      if (slot !== undefined) this.#fail(this.#slots.free(slot).request, "refused", message);
    }
    for (const [row, slot] of slots.entries()) {
      if (rows.includes(row)) continue;
      const { request, task } = this.#slots.query(slot);
      if (request.isSettled) this.#slots.free(slot);
      else this.#retry(slot, task, nowMs);
    }
    this.#startBatches(nowMs);
  }

  /**
   * Tells the dispatcher first, if it does not know, so that the worker has its next batch before
   * answers are written.
   */
  #release(batch: RunningBatch): number {
    const nowMs = this.#now();
    const { worker } = batch;
    if (!this.#batches.endAnswer(batch)) {
      this.#batches.replace(worker, undefined);
      this.#tellDone(worker, nowMs);
    }
    return nowMs;
  }

  #tellDone(worker: number, nowMs: number): void {
    this.#carryOut(this.#dispatcher.onBatchDone(worker, nowMs), nowMs);
  }

  #loseBatches(batches: readonly RunningBatch[], { message }: WorkerLostError): void {
    for (const batch of batches) this.#loseBatch(batch, message);
  }

  /** What may be tried again waits again; the others fail. */
  #loseBatch(batch: RunningBatch, message: string): void {
    const { slots } = batch;
    const nowMs = this.#now();
    const lost = lostRun(batch, nowMs);
    for (const slot of slots) {
      const query = this.#slots.query(slot);
      const { request, task } = query;
      query.losses++;
      query.lossMessage = message;
      request.noteRun(query, lost);
      if (!request.isSettled && mayTryAgain(query.losses, request.deadlineMs, nowMs)) {
        this.#observer.onQueryRetried();
        query.sinceMs = nowMs;
        this.#retry(slot, task, nowMs);
      } else this.#fail(this.#slots.free(slot).request, "worker-lost", message);
    }
    this.#startBatches(nowMs);
  }

  /** A query waits again. */
  #retry(slot: number, task: number, nowMs: number): void {
    this.#carryOut(this.#dispatcher.onRetry(slot, task, nowMs), nowMs);
  }

  #failBatch({ slots }: RunningBatch, reason: FailureReason, message: string): void {
    for (const slot of slots) this.#fail(this.#slots.free(slot).request, reason, message);
  }

  #drop(slot: number, reason: number): void {
    const { request, task, losses, lossMessage } = this.#slots.free(slot);
    if (reason === DROP_NO_WORKER && losses > 0) {
      // Nobody is left to try again what may have ended its worker.
      this.#fail(request, "worker-lost", lossMessage);
      return;
    }
    this.#observer.onQueryDropped(task, reason);
    const { name } = at(this.#signature.tasks, task);
    if (reason === DROP_NO_WORKER) this.#fail(request, "no-worker", `${name}: no worker is up`);
    else if (reason === DROP_LATE)
      this.#fail(request, "late", `${name}: its deadline cannot be met any more`);
    else this.#fail(request, "queue-full", `${name}: the queue is full`);
  }

  #fail(request: PipelineRequest, reason: FailureReason, message: string): void {
    if (request.isSettled) return;
    request.fail(reason, message);
    if (DROPPED.has(reason)) this.#observer.onRowsDone("dropped", request.rows);
    this.#takeBack(request);
  }

  /**
   * Removes the queries of a settled request that still wait; those that run keep their slots until
   * the batch is over.
   */
  #takeBack(request: PipelineRequest): void {
    this.#courseByRequest.get(request)?.end();
    this.#courseByRequest.delete(request);
    this.#pendingRows -= request.rows;
    for (const query of [...request.slots]) {
      if (this.#dispatcher.onCancel(query)) this.#slots.free(query);
    }
  }

  #now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#options.nowMs());
    return this.#lastMs;
  }
}

/** Failures that are the pipeline's decision. */
const DROPPED: ReadonlySet<FailureReason> = new Set([
  "shed",
  "queue-full",
  "late",
  "timeout",
  "no-worker",
]);
