/** The dispatcher's driver on the wall clock. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { pathTimesOf } from "../../../core/decision-slo.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { type Executor, WorkerLostError } from "../../../exec/models/executor.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import type { ServiceTimes } from "../../../server/measures/service-times.ts";
import { type BatchOwner, BatchRuns, pacedMs } from "../../../server/requests/batch-runs.ts";
import type { RequestRows, RowAnswer, Submission } from "../../../server/requests/request.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import { dispatcherOf } from "../core/dispatcher-of.ts";
import { OpenRequests, RequestEntry, RowSlots, type SchedulerObserver } from "./open-requests.ts";
import {
  type DropCommand,
  RecordedDispatcher,
  type Recorder,
  type TableCommand,
} from "./recorded-dispatcher.ts";
import { BatchEnds, inputParts, type RunningBatch, startedBatch } from "./running-batch.ts";

interface SchedulerOptions {
  readonly bundle: RamsisBundle;
  readonly signature: ModelSignature;
  readonly nowMs: () => number;
  /** Profiled p99 of a batch; by default the time limit of any batch applies. */
  readonly p99Ms?: P99MsOf | undefined;
  /** Queries that wait or run at most; a request that would exceed it is refused as a whole. */
  readonly maxPending: number;
  readonly recorder?: Recorder | undefined;
  readonly observer?: SchedulerObserver | undefined;
  /** Records how long batches take. */
  readonly times?: ServiceTimes | undefined;
}

/** Returns undefined if unknown. */
type P99MsOf = (variant: number, rows: number, bucket: number) => number | undefined;

/**
 * Turns requests into queries, one per row, which arrive together; the executor runs the batches
 * that the dispatcher starts, and their results go back, row by row, to the requests they belong
 * to.
 *
 * A query is the index of a slot, and slots are limited, so a query has the memory of its request
 * and nothing outlives it. The executor reports its workers through `onWorkerReady` and
 * `onWorkerLost`.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #dispatcher: RecordedDispatcher;
  readonly #slots: RowSlots;
  readonly #requests: OpenRequests;
  readonly #entry: RequestEntry;
  readonly #runs: BatchRuns<RunningBatch>;
  readonly #ends: BatchEnds;
  readonly #isUp: boolean[];
  #executor: Executor | undefined;
  #shareWorkers: number | undefined;
  #lastMs = 0;

  constructor(options: SchedulerOptions) {
    const { bundle, signature, maxPending, recorder, observer, times } = options;
    const nowMs = () => this.#now();
    const decides = dispatcherOf(bundle, { ready: false });
    const { workerCount } = decides;
    const dispatcher = new RecordedDispatcher(decides, recorder, () => this.#wake());
    const slots = new RowSlots(maxPending);
    const requests = new OpenRequests(slots, dispatcher, observer, nowMs);
    this.#options = options;
    this.#dispatcher = dispatcher;
    this.#slots = slots;
    this.#requests = requests;
    this.#isUp = new Array<boolean>(workerCount).fill(false);
    const around = {
      ...{ signature, slots, requests, dispatcher, observer, path: pathTimesOf(bundle.cluster) },
      nowMs,
      carryOut: (commands: readonly TableCommand[], ms: number) => this.#carryOut(commands, ms),
    };
    this.#entry = new RequestEntry(around);
    this.#ends = new BatchEnds(around);
    this.#runs = new BatchRuns({ workerCount, owner: this.#batchOwner(), nowMs, times });
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

  /** Load as measured by the dispatcher, rows per second; NaN until it is known. */
  get loadQps(): number {
    return this.#dispatcher.loadQps(this.#now());
  }

  /** The pace of the workers, by which decisions are made. */
  get pace(): PaceMonitor {
    return this.#dispatcher.pace;
  }

  /** Queries that wait or run. */
  get pendingCount(): number {
    return this.#slots.usedCount;
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
    return this.#entry.submit(rows, deadlineMs, sloClass, this.#now());
  }

  /** Whether a query that arrives now would be dropped, whatever it asks. */
  get isFull(): boolean {
    return this.#dispatcher.isFull(this.#now());
  }

  /**
   * A request was refused at the door: its rows count as load, and as dropped.
   * @param sloClass index of its class, where the bundle has some.
   */
  reject(rows: number, sloClass = 0): void {
    this.#entry.reject(rows, sloClass, this.#now());
  }

  onWorkerReady(worker: number): void {
    if (this.#isUp[worker] !== false) return;
    const nowMs = this.#now();
    this.#isUp[worker] = true;
    this.#runs.onFresh(worker);
    this.#carryOut(this.#dispatcher.onWorkerReady(worker, nowMs), nowMs);
  }

  onWorkerLost(worker: number, reason: string, cause: LossCause = "ended"): void {
    // A worker may also end while it starts; the dispatcher has not heard of that one.
    if (this.#isUp[worker] !== true) return;
    const nowMs = this.#now();
    this.#isUp[worker] = false;
    this.#options.observer?.onWorkerLost(cause);
    const batches = this.#runs.takeAll(worker);
    this.#carryOut(this.#dispatcher.onWorkerLost(worker, nowMs), nowMs);
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /**
   * Called when a standby has taken the place of a lost worker. For the dispatcher only the running
   * batch is over: queries that wait for the place stay there.
   */
  onWorkerReplaced(worker: number, reason: string, cause: LossCause = "ended"): void {
    if (this.#isUp[worker] !== true) return;
    this.#options.observer?.onWorkerLost(cause);
    const isBusy = this.#runs.isBusy(worker);
    const batches = this.#runs.takeAll(worker);
    this.#runs.onFresh(worker);
    if (isBusy) this.#onIdle(worker, this.#now());
    this.#loseBatches(batches, new WorkerLostError(worker, reason));
  }

  /**
   * Replaces the bundle that decides.
   * @param bundle with the same cluster and decision space; waiting and running queries stay.
   */
  replaceBundle(bundle: RamsisBundle): void {
    this.#dispatcher.replaceBundle(bundle, this.#now());
  }

  /** Is one of several front ends from now on. */
  share(share: LoadShare): void {
    this.#dispatcher.onShare(share, this.#now());
    this.#shareWorkers = Math.min(share.workers, this.workerCount);
  }

  /** Load as measured here, for the other front ends. */
  seenLoad(): SeenLoad {
    return this.#dispatcher.seenLoad(this.#now());
  }

  /** Fails every open request. */
  abort(): void {
    this.#dispatcher.stop();
    this.#requests.failAll("closed", "the server has stopped");
  }

  /** Marks all that the commands are about before acting on any: that may bring the next event. */
  #carryOut(commands: readonly TableCommand[], nowMs: number): void {
    if (commands.length === 0) return;
    const started: RunningBatch[] = [];
    const dropped: DropCommand[] = [];
    for (const command of commands) {
      if (command.kind === "drop") {
        dropped.push(command);
        continue;
      }
      const rows = command.queries.map((query) => this.#slots.row(query));
      const { name = "" } = this.#options.signature.variants[command.variant] ?? {};
      const batch = startedBatch(command, rows, name, nowMs, this.pace);
      this.#runs.start(batch);
      this.#options.observer?.onBatchStart(batch);
      started.push(batch);
    }
    for (const { query, reason } of dropped) this.#requests.drop(query, reason);
    for (const batch of started) this.#run(batch);
  }

  #wake(): void {
    const nowMs = this.#now();
    this.#carryOut(this.#dispatcher.onTimer(nowMs), nowMs);
  }

  #run(batch: RunningBatch): void {
    const { worker, variant, rows, deadlineMs } = batch;
    // Its worker was lost while an earlier command was carried out.
    if (!this.#runs.isComputing(batch)) return;
    assert(this.#executor !== undefined, "workers are ready once there is an executor");
    const executor = this.#executor;
    const { signature, p99Ms: p99MsOf } = this.#options;
    const order = signature.variants[variant]?.inputOrder ?? [];
    const own = batch.queries.map((query) => this.#slots.row(query));
    const inputs = inputParts(own, order);
    // Rows of one batch are of one bucket.
    const bucket = signature.axes === undefined ? 0 : (own[0]?.request.sloClass ?? 0);
    const p99Ms = pacedMs(p99MsOf?.(variant, rows, bucket), batch);
    batch.kind = bucket;
    const batchOf = { variant, rows, inputs, p99Ms, deadlineMs, ...(bucket > 0 ? { bucket } : {}) };
    this.#runs.hand(batch, (onComputed) => executor.run(worker, batchOf, onComputed));
    for (const { request } of own) {
      if (Number.isNaN(request.handedMs)) request.handedMs = batch.handedMs;
    }
  }

  #batchOwner(): BatchOwner<RunningBatch> {
    const { observer } = this.#options;
    return {
      onIdle: (worker, nowMs, ranMs) => this.#onIdle(worker, nowMs, ranMs),
      onResult: (batch, result, nowMs) => this.#ends.answer(batch, result, nowMs),
      onDone: (batch, times) => observer?.onBatchDone(batch, times),
      onRowsRefused: (batch, error) => this.#ends.refuseRows(batch, error),
      onFailed: (batch, message) => this.#ends.fail(batch, message),
      onLost: (batch, message) => this.#ends.lose(batch, message),
    };
  }

  #onIdle(worker: number, nowMs: number, ranMs?: number): void {
    this.#carryOut(this.#dispatcher.onBatchDone(worker, nowMs, ranMs), nowMs);
  }

  #loseBatches(batches: readonly RunningBatch[], { message }: WorkerLostError): void {
    for (const batch of batches) this.#ends.lose(batch, message);
  }

  /** Returns the time, never going back, as the load monitor requires. */
  #now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#options.nowMs());
    return this.#lastMs;
  }
}
