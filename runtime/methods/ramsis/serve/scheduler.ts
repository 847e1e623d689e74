/** The dispatcher's driver on the wall clock. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { CommandBuffer, DROP, DROP_LATE, DROP_NO_WORKER } from "../../../core/command-buffer.ts";
import { type PathTimes, pathTimesOf } from "../../../core/decision-slo.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import { mayTryAgain } from "../../../core/second-try.ts";
import { ANY_VARIANT, sameVariant } from "../../../core/wanted-variant.ts";
import {
  type BatchResult,
  type Executor,
  RowsRefusedError,
  WorkerLostError,
} from "../../../exec/executor.ts";
import type { ServiceTimes } from "../../../server/drift/service-times.ts";
import type { BatchTimes } from "../../../server/requests/answer-times.ts";
import { type BatchRun, lostRun } from "../../../server/requests/batch-run.ts";
import {
  GIVEN_UP,
  type GivenUp,
  type Outcome,
  PendingRequest,
  type RequestRows,
  type RowAnswer,
  type RowedOutput,
  rowedOutput,
  type Submission,
} from "../../../server/requests/request.ts";
import { WorkerBatches } from "../../../server/requests/worker-batches.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import { WakeTimer } from "../../../server/wake-timer.ts";
import type { Dispatcher } from "../core/dispatcher.ts";
import { dispatcherOf } from "../core/dispatcher-of.ts";
import { inputParts, type Row } from "./batch-rows.ts";
import type { Recorder } from "./recording.ts";

export interface SchedulerOptions {
  readonly bundle: RamsisBundle;
  readonly signature: ModelSignature;
  readonly nowMs: () => number;
  /** Profiled p99 of a batch; left out, workers have the time that any batch has. */
  readonly p99Ms?: P99MsOf | undefined;
  /** Queries that wait or run at most; a request that would exceed it is refused as a whole. */
  readonly maxPending: number;
  readonly recorder?: Recorder | undefined;
  readonly observer?: SchedulerObserver | undefined;
  /** Told what batches take. */
  readonly times?: ServiceTimes | undefined;
}

/** Undefined where it is not known. */
type P99MsOf = (variant: number, rows: number, bucket: number) => number | undefined;

/** What metrics are made of. */
export interface SchedulerObserver {
  onBatchStart(batch: BatchStart): void;
  onBatchDone(batch: BatchStart, times: BatchTimes): void;
  /** @param sloClass index of its class, 0 where there are none. */
  onQueryDropped(sloClass: number): void;
  /** @param isLate whether its answer came after its deadline. @param variant that answered. */
  onQueryAnswered(isLate: boolean, sloClass: number, variant: number): void;
  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void;
  /** A row whose worker was lost waits again. */
  onQueryRetried(): void;
}

export interface BatchStart {
  readonly variant: number;
  readonly level: number;
  readonly rows: number;
  /** Time to the earliest deadline; negative when that is over. */
  readonly slackMs: number;
}

interface RunningBatch extends BatchStart, BatchRun {
  readonly queries: readonly number[];
  readonly startMs: number;
  /** When its worker had it. */
  handedMs: number;
  /** Of its rows; 0 where there are none. */
  bucket: number;
  /** Workers that computed, its own included, when it started, or when it was over if more. */
  busyWorkers: number;
}

/**
 * Requests become queries, one per row, which arrive together; batches that the dispatcher starts
 * are run by the executor; their results go back, row by row, to the requests they belong to.
 *
 * A query is the index of a slot, and slots are limited, so a query has the memory of its request
 * and nothing outlives it. The executor tells of its workers through `onWorkerReady` and
 * `onWorkerLost`.
 */
export class Scheduler {
  readonly #signature: ModelSignature;
  readonly #dispatcher: Dispatcher;
  readonly #commands: CommandBuffer;
  readonly #nowMs: () => number;
  readonly #p99Ms: P99MsOf | undefined;
  readonly #recorder: Recorder | undefined;
  readonly #observer: SchedulerObserver | undefined;
  readonly #times: ServiceTimes | undefined;
  readonly #rowBySlot: (Row | undefined)[];
  readonly #freeSlots: number[];
  readonly #batches: WorkerBatches<RunningBatch>;
  readonly #isUp: boolean[];
  readonly #requests = new Set<PendingRequest>();
  /** What the way of requests has of their deadlines. */
  readonly #path: PathTimes;
  #executor: Executor | undefined;
  #shareWorkers: number | undefined;
  #lastMs = 0;
  readonly #wakeTimer = new WakeTimer(() => this.#wake());

  constructor(options: SchedulerOptions) {
    const { bundle, signature, nowMs, maxPending, recorder, observer } = options;
    this.#p99Ms = options.p99Ms;
    this.#path = pathTimesOf(bundle.cluster);
    this.#signature = signature;
    this.#dispatcher = dispatcherOf(bundle, { ready: false });
    const { commandCapacity, waitingCapacity, workerCount } = this.#dispatcher;
    this.#commands = new CommandBuffer(commandCapacity, waitingCapacity);
    this.#nowMs = nowMs;
    this.#recorder = recorder;
    this.#observer = observer;
    this.#times = options.times;
    this.#rowBySlot = new Array<Row | undefined>(maxPending).fill(undefined);
    this.#freeSlots = Array.from({ length: maxPending }, (_, slot) => maxPending - 1 - slot);
    this.#batches = new WorkerBatches(workerCount);
    this.#isUp = new Array<boolean>(workerCount).fill(false);
  }

  get workerCount(): number {
    return this.#isUp.length;
  }

  /** Workers that there should be: all, or of several front ends the share of this one. */
  get shareWorkerCount(): number {
    return this.#shareWorkers ?? this.workerCount;
  }

  get readyWorkerCount(): number {
    return this.#isUp.filter((isUp) => isUp).length;
  }

  /** As the dispatcher measures it, rows per second; NaN until it is known. */
  get loadQps(): number {
    return this.#dispatcher.loadQps(this.#now());
  }

  /** Queries that wait or run. */
  get pendingCount(): number {
    return this.#rowBySlot.length - this.#freeSlots.length;
  }

  /** Gives the scheduler its executor, once; no worker is ready before. */
  attach(executor: Executor): void {
    assert(this.#executor === undefined, "a scheduler has one executor");
    this.#executor = executor;
  }

  /**
   * @param deadlineMs as the client has it; decisions leave time for the way before it.
   * @param sloClass index of the request's class, where the bundle has some.
   */
  submit(rows: RequestRows, deadlineMs: number, sloClass = 0): Submission<RowAnswer> {
    let settle: (outcome: Outcome<RowAnswer>) => void = () => {};
    const outcome = new Promise<Outcome<RowAnswer>>((resolve) => {
      settle = resolve;
    });
    const nowMs = this.#now();
    const times = { arrivalMs: nowMs, deadlineMs: deadlineMs - this.#path.marginMs, sloClass };
    const request = new PendingRequest(this.#signature, rows, times, settle);
    if (rows.rows > this.#freeSlots.length) {
      for (let row = 0; row < rows.rows; row++) this.#observer?.onQueryDropped(sloClass);
      request.fail("queue-full", `${this.pendingCount} queries wait or run, as many as may`);
    } else {
      this.#requests.add(request);
      this.#arrive(request, nowMs);
    }
    return { outcome, cancel: (why = "cancelled") => this.#giveUp(request, why) };
  }

  /** Whether a query that arrives now would be dropped, whatever it asks. */
  get isFull(): boolean {
    return this.#dispatcher.isFull;
  }

  /**
   * A request was refused at the door: its rows count as load, and as dropped.
   * @param sloClass index of its class, where the bundle has some.
   */
  turnAway(rows: number, sloClass = 0): void {
    const nowMs = this.#now();
    for (let row = 0; row < rows; row++) this.#observer?.onQueryDropped(sloClass);
    this.#recorder?.({ kind: "refused", queries: rows, nowMs, ...named(sloClass) });
    this.#dispatcher.onRefused(rows, nowMs, sloClass);
  }

  onWorkerReady(worker: number): void {
    if (this.#isUp[worker] !== false) return;
    const nowMs = this.#now();
    this.#isUp[worker] = true;
    this.#recorder?.({ kind: "ready", worker, nowMs });
    this.#dispatcher.onWorkerReady(worker, nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  onWorkerLost(worker: number, reason: string, isHung = false): void {
    // A worker may also end while it starts; the dispatcher has not heard of that one.
    if (this.#isUp[worker] !== true) return;
    const nowMs = this.#now();
    this.#isUp[worker] = false;
    this.#observer?.onWorkerLost(isHung);
    const batches = this.#batches.endAll(worker);
    this.#recorder?.({ kind: "lost", worker, nowMs });
    this.#dispatcher.onWorkerLost(worker, nowMs, this.#commands);
    this.#carryOut(nowMs);
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /**
   * A standby has taken the place of a lost worker. For the dispatcher only the batch is over that
   * it took for running: what waits for the place stays there.
   */
  onWorkerReplaced(worker: number, reason: string, isHung = false): void {
    if (this.#isUp[worker] !== true) return;
    this.#observer?.onWorkerLost(isHung);
    const isBusy = this.#batches.isBusy(worker);
    const batches = this.#batches.endAll(worker);
    if (isBusy) this.#tellDone(worker, this.#now());
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /**
   * Lets another bundle decide from now on.
   * @param bundle one of the same cluster and decision space; what waits and runs stays as it is.
   */
  replaceBundle(bundle: RamsisBundle): void {
    this.#recorder?.({ kind: "policy", bundle, nowMs: this.#now() });
    this.#dispatcher.replaceBundle(bundle);
  }

  /** Is one of several front ends from now on. */
  share(share: LoadShare): void {
    this.#recorder?.({ kind: "share", ...share, nowMs: this.#now() });
    this.#dispatcher.onShare(share);
    this.#shareWorkers = Math.min(share.workers, this.workerCount);
  }

  /** What is seen here, to tell the other front ends. */
  seenLoad(): SeenLoad {
    return this.#dispatcher.seenLoad(this.#now());
  }

  /** Fails every request that is still open. */
  abort(): void {
    this.#wakeTimer.clear();
    for (const request of [...this.#requests]) {
      this.#fail(request, "closed", "the server has stopped");
    }
  }

  #arrive(request: PendingRequest, nowMs: number): void {
    if (request.rows === 1 && typeof request.variant !== "number") {
      const { deadlineMs, sloClass } = request;
      const query = this.#takeSlot(request, 0);
      if (sloClass === 0) this.#recorder?.({ kind: "arrival", query, deadlineMs, nowMs });
      else this.#recorder?.({ kind: "arrival", query, deadlineMs, nowMs, sloClass });
      this.#dispatcher.onArrival(query, deadlineMs, nowMs, this.#commands, sloClass);
    } else {
      this.#arriveTogether(request, nowMs);
      this.#recorder?.({ kind: "joint-end", nowMs });
      this.#dispatcher.onJointEnd(nowMs, this.#commands);
    }
    this.#carryOut(nowMs);
  }

  #arriveTogether(request: PendingRequest, nowMs: number): void {
    const { deadlineMs, sloClass } = request;
    // A row that is dropped fails the request, and the rows after it need not arrive.
    for (let row = 0; row < request.rows && !request.isSettled; row++) {
      const query = this.#takeSlot(request, row);
      const wanted = wantedVariant(request);
      const arrival = { query, deadlineMs, wanted, nowMs, ...named(sloClass) };
      this.#recorder?.({ kind: "joint-arrival", ...arrival });
      this.#dispatcher.onJointArrival(query, deadlineMs, wanted, nowMs, this.#commands, sloClass);
      this.#carryOut(nowMs);
    }
  }

  #takeSlot(request: PendingRequest, row: number): number {
    const query = this.#freeSlots.pop();
    assert(query !== undefined, "the request was refused if there are not enough slots");
    this.#rowBySlot[query] = { request, row, losses: 0, lossMessage: "" };
    request.queryByRow[row] = query;
    return query;
  }

  /** Copies the commands out before acting on them: what is done may bring the next event. */
  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    this.#wakeTimer.set(this.#dispatcher.wakeMs, nowMs);
    if (commands.count === 0) return;
    const started: RunningBatch[] = [];
    const dropped: { readonly query: number; readonly reason: number }[] = [];
    for (let command = 0; command < commands.count; command++) {
      const worker = commands.worker(command);
      if (commands.kind(command) === DROP) {
        const drop = { query: commands.query(command, 0), reason: commands.reason(command) };
        this.#recorder?.({ kind: "drop", worker, ...drop });
        dropped.push(drop);
      } else {
        started.push(this.#startedBatch(command, nowMs));
      }
    }
    commands.clear();
    for (const { query, reason } of dropped) this.#drop(query, reason);
    for (const batch of started) this.#run(batch);
  }

  #wake(): void {
    const nowMs = this.#now();
    // Timers and clocks do not agree to the microsecond.
    if (nowMs >= this.#dispatcher.wakeMs) {
      this.#recorder?.({ kind: "wake", nowMs });
      this.#dispatcher.onWake(nowMs, this.#commands);
    }
    this.#carryOut(nowMs);
  }

  #startedBatch(command: number, nowMs: number): RunningBatch {
    const commands = this.#commands;
    const worker = commands.worker(command);
    const variant = commands.variant(command);
    const level = commands.level(command);
    const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
      commands.query(command, position),
    );
    this.#recorder?.({ kind: "start-batch", worker, variant, level, queries });
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const query of queries) {
      const { request, row } = this.#rowOf(query);
      request.variantByRow[row] = variant;
      if (!(request.startMs <= nowMs)) request.startMs = nowMs;
      earliestMs = Math.min(earliestMs, request.deadlineMs);
    }
    const slackMs = earliestMs - nowMs;
    const variantName = this.#signature.variants[variant]?.name ?? "";
    const batch: RunningBatch = {
      worker,
      variant,
      variantName,
      level,
      rows: queries.length,
      queued: commands.queued(command),
      slackMs,
      queries,
      startMs: nowMs,
      handedMs: nowMs,
      bucket: 0,
      busyWorkers: 0,
      endMs: Number.NaN,
      wallMs: Number.NaN,
    };
    this.#batches.start(batch);
    this.#observer?.onBatchStart(batch);
    return batch;
  }

  #run(batch: RunningBatch): void {
    const { worker, variant, rows } = batch;
    // Its worker was lost while an earlier command was carried out.
    if (!this.#batches.isComputing(batch)) return;
    assert(this.#executor !== undefined, "workers are ready once there is an executor");
    const executor = this.#executor;
    const order = this.#signature.variants[variant]?.inputOrder ?? [];
    const own = batch.queries.map((query) => this.#rowOf(query));
    const inputs = inputParts(own, order);
    // Inside an async function, so that an executor that throws at once rejects as well.
    // Rows of one batch are of one bucket.
    const bucket = this.#signature.axes === undefined ? 0 : (own[0]?.request.sloClass ?? 0);
    const p99Ms = this.#p99Ms?.(variant, rows, bucket);
    batch.bucket = bucket;
    batch.busyWorkers = this.#batches.busyCount;
    const batchOf = { variant, rows, inputs, p99Ms, ...(bucket > 0 ? { bucket } : {}) };
    const run = async () => executor.run(worker, batchOf, () => this.#onComputed(batch));
    run().then(
      (result) => this.#onResult(batch, result),
      (error: unknown) => this.#onRefused(batch, error),
    );
    batch.handedMs = this.#now();
    for (const { request } of own) {
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
    this.#tellDone(batch.worker, this.#now());
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
    this.#observer?.onBatchDone(batch, {
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
    const { variant, rows, bucket, busyWorkers, wallMs: insideMs, handedMs } = batch;
    const aroundMs = endMs - handedMs;
    this.#times?.onBatch({ variant, rows, kind: bucket, aroundMs, insideMs, endMs, busyWorkers });
  }

  /** Gives the rows of a result to their requests. */
  #answerBatch(batch: RunningBatch, result: BatchResult, nowMs: number): void {
    const order = this.#signature.variants[batch.variant]?.outputOrder ?? [];
    const outputs: RowedOutput[] = [];
    for (const [output, index] of order.entries()) {
      const own = result.outputs[index];
      const rowed =
        own === undefined ? undefined : rowedOutput(this.#signature, output, own, batch.rows);
      if (rowed === undefined) {
        this.#failBatch(batch, "inference", `the model's output is not one of ${batch.rows} rows`);
        return;
      }
      outputs.push(rowed);
    }
    for (const [index, query] of batch.queries.entries()) {
      const { request, row } = this.#free(query);
      if (request.isSettled) continue;
      const isLate = nowMs > request.deadlineMs + this.#path.graceMs;
      this.#observer?.onQueryAnswered(isLate, request.sloClass, batch.variant);
      request.takeRow(row, outputs, index, nowMs, batch);
      if (request.isSettled) this.#takeBack(request);
    }
  }

  #onRefused(batch: RunningBatch, error: unknown): void {
    if (!this.#batches.isOpen(batch)) return;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof WorkerLostError) {
      // Where its answer was on its way, what the executor says next has it lost: the dispatcher
      // would try it again on this worker, which it holds for idle.
      if (!this.#batches.isComputing(batch)) return;
      // The worker stays busy for the dispatcher until the executor says that it is gone, which
      // also counts the loss.
      this.#batches.replace(batch.worker, { ...batch, queries: [] });
      this.#loseBatch(batch, message);
      return;
    }
    this.#release(batch);
    if (error instanceof RowsRefusedError) this.#refuseRows(batch, error);
    else this.#failBatch(batch, "inference", message);
  }

  /** Fails the requests of rows that are at fault; the others of the batch wait again. */
  #refuseRows({ queries, variant }: RunningBatch, { rows, message }: RowsRefusedError): void {
    const nowMs = this.#now();
    for (const place of rows) {
      const query = queries[place];
      if (query === undefined) continue;
      const { request, row } = this.#free(query);
      const where = request.rows > 1 ? ` (row ${row} of the request)` : "";
      this.#fail(request, "refused", message + where);
    }
    for (const [place, query] of queries.entries()) {
      if (rows.includes(place)) continue;
      const { request } = this.#rowOf(query);
      if (request.isSettled) this.#free(query);
      else this.#retry(query, request, variant, nowMs);
    }
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
    this.#recorder?.({ kind: "done", worker, nowMs });
    this.#dispatcher.onBatchDone(worker, nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  #loseBatches(batches: readonly RunningBatch[], { message }: WorkerLostError): void {
    for (const batch of batches) this.#loseBatch(batch, message);
  }

  /** What may be tried again waits again; the others fail. */
  #loseBatch(batch: RunningBatch, message: string): void {
    const { queries, variant } = batch;
    const nowMs = this.#now();
    const lost = lostRun(batch, nowMs);
    for (const query of queries) {
      const row = this.#rowOf(query);
      const { request } = row;
      row.losses++;
      row.lossMessage = message;
      request.noteLost(lost);
      if (!request.isSettled && mayTryAgain(row.losses, request.deadlineMs, nowMs)) {
        this.#observer?.onQueryRetried();
        this.#retry(query, request, variant, nowMs);
      } else this.#fail(this.#free(query).request, "worker-lost", message);
    }
  }

  #retry(
    query: number,
    { deadlineMs, sloClass, variant }: PendingRequest,
    ran: number,
    nowMs: number,
  ) {
    // Rows that one variant is to answer have one by now.
    const wanted = variant === "same" ? ran : (variant ?? ANY_VARIANT);
    this.#recorder?.({ kind: "retry", query, deadlineMs, wanted, nowMs, ...named(sloClass) });
    this.#dispatcher.onRetry(query, deadlineMs, wanted, nowMs, this.#commands, sloClass);
    this.#carryOut(nowMs);
  }

  #failBatch(batch: RunningBatch, reason: "inference", message: string): void {
    for (const query of batch.queries) this.#fail(this.#free(query).request, reason, message);
  }

  #drop(query: number, reason: number): void {
    const { request, losses, lossMessage } = this.#free(query);
    if (reason === DROP_NO_WORKER && losses > 0) {
      // Nobody is left to try again what may have ended its worker.
      this.#fail(request, "worker-lost", lossMessage);
      return;
    }
    this.#observer?.onQueryDropped(request.sloClass);
    if (reason === DROP_NO_WORKER) this.#fail(request, "no-worker", "no worker is up");
    else if (reason === DROP_LATE)
      this.#fail(request, "late", "its deadline cannot be met any more");
    else this.#fail(request, "queue-full", "the queue of the worker is full");
  }

  #giveUp(request: PendingRequest, why: GivenUp): void {
    if (request.isSettled) return;
    if (why === "timeout") {
      for (let row = 0; row < request.rows; row++) this.#observer?.onQueryDropped(request.sloClass);
    }
    this.#fail(request, why, GIVEN_UP[why]);
  }

  #fail(request: PendingRequest, ...why: Parameters<PendingRequest["fail"]>): void {
    if (request.isSettled) return;
    request.fail(...why);
    this.#takeBack(request);
  }

  /**
   * Removes the rows of a settled request that still wait; rows that run keep their slots until the
   * batch is over.
   */
  #takeBack(request: PendingRequest): void {
    this.#requests.delete(request);
    for (const query of request.queryByRow) {
      if (this.#rowBySlot[query]?.request !== request) continue;
      this.#recorder?.({ kind: "cancel", query, nowMs: this.#now() });
      if (this.#dispatcher.onCancel(query)) this.#free(query);
    }
  }

  #rowOf(query: number | undefined): Row {
    const row = query === undefined ? undefined : this.#rowBySlot[query];
    assert(row !== undefined, "a query of the dispatcher has a slot");
    return row;
  }

  #free(query: number): Row {
    const row = this.#rowOf(query);
    this.#rowBySlot[query] = undefined;
    this.#freeSlots.push(query);
    return row;
  }

  /** The load monitor takes no time that goes back, whatever the clock does. */
  #now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#nowMs());
    return this.#lastMs;
  }
}

/** What a row that arrives now asks of the dispatcher. */
function wantedVariant({ variant, queryByRow }: PendingRequest): number {
  if (variant === undefined) return ANY_VARIANT;
  return variant === "same" ? sameVariant(queryByRow[0] ?? 0) : variant;
}

/** What a record says of a class: nothing of the first. */
function named(sloClass: number): { readonly sloClass?: number } {
  return sloClass === 0 ? {} : { sloClass };
}
