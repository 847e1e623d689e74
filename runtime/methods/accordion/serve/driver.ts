/** Drives Accordion's scheduler on the wall clock. */
import { assert } from "../../../core/assert.ts";
import type { PathTimes } from "../../../core/decision-slo.ts";
import { LoadMonitor } from "../../../core/load-monitor.ts";
import type { Batch, BatchResult, Executor } from "../../../exec/models/executor.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import { at } from "../../../server/graph/signature/pipeline-signature.ts";
import type { ServiceTimes } from "../../../server/measures/service-times.ts";
import {
  type FailureReason,
  GIVEN_UP,
  type GivenUp,
  type Outcome,
  type RequestRows,
  type Submission,
} from "../../../server/requests/request.ts";
import { DROP_NO_PLACE, DROP_PLACES_LOST } from "../core/commands.ts";
import type { AccordionScheduler } from "../core/scheduler.ts";
import { ExecutionPlace } from "./execution-place.ts";
import type { AccordionObserver } from "./observer.ts";
import { PipelineRun } from "./pipeline-run.ts";
import { RecordedScheduler } from "./recorded-scheduler.ts";
import type { AccordionCommand, AccordionRecorder } from "./recording.ts";
import { AccordionRequest } from "./request.ts";
import type { AccordionModel } from "./served-models.ts";

interface AccordionDriverOptions {
  /** In the order of the bundle. */
  readonly models: readonly AccordionModel[];
  /** Scheduler of the bundle, without any events yet. */
  readonly scheduler: AccordionScheduler;
  /**
   * Maximum number of rows of open requests; also the number of queries that the scheduler has room
   * for.
   */
  readonly maxPending: number;
  /** Beat of the bundle, see `beatMsOf`. */
  readonly beatMs: number;
  readonly nowMs: () => number;
  readonly recorder?: AccordionRecorder | undefined;
  /** Parts of the deadline that the path of requests takes; default 0. */
  readonly path?: PathTimes | undefined;
  readonly observer: AccordionObserver;
  /** Records how long stages take; left out if not needed. */
  readonly times?: ServiceTimes | undefined;
  /** The pool of a place. */
  readonly kindOf?: ((place: number) => number) | undefined;
}

type PlacesCommand = Exclude<AccordionCommand, { readonly kind: "drop" }>;

/**
 * The driver of the places' scheduler on the wall clock. A request is one query, and its rows are
 * the instances that stream through the stages on the places that the query has. What a place ran
 * when it went to another query is thrown away at its end; what was on a place that was lost is run
 * again.
 */
export class AccordionDriver {
  readonly #options: AccordionDriverOptions;
  readonly #scheduler: AccordionScheduler;
  readonly #recorded: RecordedScheduler;
  readonly #observer: AccordionObserver;
  readonly #places: readonly ExecutionPlace[];
  readonly #load: LoadMonitor;
  /** Waiting and running queries, by the scheduler's names; names in `#free` are not in use. */
  readonly #runByQuery: (PipelineRun | undefined)[];
  readonly #free: number[];
  #executor: Executor | undefined;
  #pendingRows = 0;
  #hasStarted = false;
  #isClosed = false;
  #lastMs = 0;

  constructor(options: AccordionDriverOptions) {
    const { scheduler, recorder, maxPending } = options;
    assert(scheduler.queryCapacity >= maxPending, "every row may be a query");
    this.#options = options;
    this.#load = new LoadMonitor(options.beatMs);
    this.#scheduler = scheduler;
    this.#observer = options.observer;
    this.#recorded = new RecordedScheduler({ scheduler, recorder, onWake: () => this.#wake() });
    this.#places = Array.from({ length: scheduler.placeCount }, (_, place) => {
      return new ExecutionPlace(place, (batch) => this.#runTimed(place, batch));
    });
    this.#runByQuery = new Array<PipelineRun | undefined>(maxPending).fill(undefined);
    this.#free = Array.from({ length: maxPending }, (_, query) => maxPending - 1 - query);
  }

  /** Whether all places have been ready and, since, one is. */
  get canServe(): boolean {
    return this.#hasStarted && this.#scheduler.readyPlaceCount > 0;
  }

  /** Measured arrivals of queries, per second; NaN until known. */
  get loadQps(): number {
    return this.#load.loadQps(this.#now());
  }

  /** Gives the driver its executor, once; no worker is ready before. */
  attach(executor: Executor): void {
    assert(this.#executor === undefined, "a driver has one executor");
    this.#executor = executor;
  }

  /** @param deadlineMs as the client has it; decisions leave time for the way before it. */
  submit(model: number, rows: RequestRows, deadlineMs: number, isHigh: boolean): Submission {
    let settle: (outcome: Outcome) => void = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      settle = resolve;
    });
    const arrivalMs = this.#now();
    const ofModel = at(this.#options.models, model);
    const { path } = this.#options;
    const times = { arrivalMs, deadlineMs: deadlineMs - (path?.marginMs ?? 0) };
    const request = new AccordionRequest({ model, ofModel, rows, isHigh, ...times, settle });
    this.#load.recordArrival(arrivalMs);
    const run = this.#open(request);
    const cancel = (why: GivenUp = "cancelled") => {
      if (run === undefined || request.isSettled) return;
      if (why === "timeout") this.#observer.onRowsDone(model, "dropped", rows.rows);
      this.#giveUp(run, why, GIVEN_UP[why]);
    };
    return { outcome, cancel };
  }

  /** A request was refused at the door: it counts as load. */
  reject(model: number, rows: number): void {
    this.#load.recordArrival(this.#now());
    this.#observer.onRowsDone(model, "dropped", rows);
  }

  onWorkerReady(worker: number): void {
    const place = at(this.#places, worker);
    if (place.isUp || this.#isClosed) return;
    const nowMs = this.#now();
    place.up();
    const commands = this.#recorded.onPlaceReady(worker, nowMs);
    this.#hasStarted ||= this.#scheduler.readyPlaceCount === this.#places.length;
    this.#carryOut(commands, nowMs);
  }

  /**
   * Handles the loss of a worker: its query goes on as the scheduler decides, or waits again
   * without a decision.
   */
  onWorkerLost(worker: number, cause: LossCause = "ended"): void {
    this.#lose(worker, cause, (nowMs) => this.#recorded.onPlaceLost(worker, nowMs));
  }

  /** Handles the loss of a worker whose place another has taken. */
  onWorkerReplaced(worker: number, cause: LossCause = "ended"): void {
    const place = at(this.#places, worker);
    if (!place.isUp) this.onWorkerReady(worker);
    else {
      this.#lose(worker, cause, (nowMs) => {
        place.up();
        return this.#recorded.onPlaceReplaced(worker, nowMs);
      });
    }
  }

  #lose(
    worker: number,
    cause: LossCause,
    tell: (nowMs: number) => readonly AccordionCommand[],
  ): void {
    const place = at(this.#places, worker);
    if (!place.isUp || this.#isClosed) return;
    const nowMs = this.#now();
    place.down();
    this.#observer.onWorkerLost(cause);
    const run = this.#runByQuery.find((one) => one?.has(place));
    const commands = tell(nowMs);
    const ofRun = commands.filter(({ query }) => query === run?.query);
    const isToldOf = ofRun.length > 0;
    const isGivenUp = ofRun.some(({ kind }) => kind === "drop");
    if (run !== undefined && !isGivenUp) this.#observer.onQueryRetried();
    if (run !== undefined && !isToldOf) run.halt();
    this.#carryOut(commands, nowMs);
  }

  /** Fails every open request. */
  abort(): void {
    this.#isClosed = true;
    this.#recorded.stop();
    for (const run of this.#runByQuery) {
      if (run === undefined) continue;
      this.#close(run);
      run.request.fail("closed", "the server has stopped");
    }
  }

  /** @returns undefined if the request was rejected, or given up at once. */
  #open(request: AccordionRequest): PipelineRun | undefined {
    const { model, rows: batch, isHigh, deadlineMs, arrivalMs: nowMs } = request;
    if (this.#isClosed) {
      request.fail("closed", "the server has stopped");
      return undefined;
    }
    const query = this.#pendingRows + batch > this.#options.maxPending ? -1 : this.#free.pop();
    if (query === undefined || query < 0) {
      request.fail(
        "queue-full",
        `${this.#pendingRows} rows wait or run, and at most ${this.#options.maxPending} may`,
      );
      this.#observer.onRowsDone(model, "dropped", batch);
      return undefined;
    }
    const run = new PipelineRun(query, request, {
      onInstance: (one) => this.#onInstance(one),
      onFailed: (one, message) => this.#giveUp(one, "inference", message),
    });
    this.#runByQuery[query] = run;
    this.#pendingRows += batch;
    const asked = { model, batch, isHigh, deadlineMs };
    this.#carryOut(this.#recorded.onQuery(query, asked, nowMs), nowMs);
    return run;
  }

  /**
   * Marks everything that the commands change before carrying any out, since that may bring the
   * next event.
   */
  #carryOut(commands: readonly AccordionCommand[], nowMs: number): void {
    if (commands.length === 0) return;
    const acts = commands.map((command) => {
      const run = this.#run(command.query);
      if (command.kind === "drop") {
        this.#close(run);
        return () => this.#drop(run.request, command.reason);
      }
      this.#place(run, command, nowMs);
      return () => this.#pump(run);
    });
    for (const act of acts) act();
  }

  async #runTimed(place: number, batch: Batch): Promise<BatchResult> {
    assert(this.#executor !== undefined, "places are ready once there is an executor");
    const { times, kindOf } = this.#options;
    const busyAtStart = this.#busyPlaces();
    const handedMs = this.#now();
    const result = await this.#executor.run(place, batch);
    const { variant, rows } = batch;
    const endMs = this.#now();
    times?.onBatch({
      variant,
      rows,
      kind: kindOf?.(place) ?? 0,
      aroundMs: endMs - handedMs,
      insideMs: result.wallMs,
      endMs,
      busyWorkers: Math.max(busyAtStart, this.#busyPlaces()),
    });
    return result;
  }

  #busyPlaces(): number {
    let count = 0;
    for (const place of this.#places) if (place.isRunning) count++;
    return count;
  }

  #pump(run: PipelineRun): void {
    run.pump();
    const { request } = run;
    if (Number.isNaN(request.handedMs)) request.handedMs = this.#now();
  }

  /** Gives a query its places from now on. */
  #place(run: PipelineRun, command: PlacesCommand, nowMs: number): void {
    const { request, placeCount: placesBefore } = run;
    const { places, shape, resumeAt } = command;
    assert(resumeAt === request.doneRows, "a query resumes at its first open row");
    const stages = at(request.ofModel.stagesByShape, shape);
    assert(stages !== null, "a query gets a shape that its model has");
    const given = places.map((place) => at(this.#places, place));
    run.begin(stages, given);
    const ownTurn = command.kind === "start" ? 1 : 0;
    request.notePlaces(places, this.#scheduler.waitingCount + ownTurn, nowMs);
    if (Number.isNaN(request.startMs)) {
      request.startMs = nowMs;
      this.#observer.onStart(request.model, places.length, request.deadlineMs - nowMs);
    } else this.#observer.onReshape(request.model, placesBefore, places.length);
  }

  /**
   * Notifies the scheduler first, so that places have their next query before an answer is written.
   */
  #onInstance(run: PipelineRun): void {
    const nowMs = this.#now();
    const { request } = run;
    const isLast = request.doneRows === request.rows;
    if (isLast) this.#close(run);
    this.#carryOut(this.#recorded.onInstanceDone(run.query, nowMs), nowMs);
    if (!isLast) return;
    const { model, rows, deadlineMs, startMs } = request;
    this.#observer.onQueryDone(model, rows, nowMs - startMs);
    const lateMs = deadlineMs + (this.#options.path?.graceMs ?? 0);
    this.#observer.onRowsDone(model, nowMs > lateMs ? "late" : "satisfied", rows);
    request.answer(nowMs);
  }

  #wake(): void {
    const nowMs = this.#now();
    this.#carryOut(this.#recorded.onTimer(nowMs), nowMs);
  }

  #drop(request: AccordionRequest, reason: number): void {
    const { model, rows, ofModel } = request;
    const name = ofModel.signature.names[0];
    this.#observer.onQueryDropped(model, reason);
    if (reason === DROP_PLACES_LOST) {
      request.fail(
        "worker-lost",
        `${name}: workers ended while they ran it, twice or past its deadline`,
      );
      return;
    }
    this.#observer.onRowsDone(model, "dropped", rows);
    if (reason === DROP_NO_PLACE) request.fail("no-worker", `${name}: no execution place is up`);
    else request.fail("late", `${name}: of low priority, and too late for its deadline`);
  }

  /** Fails an open request, and removes its query from the scheduler. */
  #giveUp(run: PipelineRun, reason: FailureReason, message: string): void {
    const { query, request } = run;
    if (request.isSettled || this.#runByQuery[query] !== run) return;
    const nowMs = this.#now();
    request.fail(reason, message);
    this.#close(run);
    this.#carryOut(this.#recorded.onCancel(query, nowMs), nowMs);
  }

  /** The query is over: its places and its name are free. */
  #close(run: PipelineRun): void {
    assert(this.#runByQuery[run.query] === run, "a query that is over was open");
    run.halt();
    this.#runByQuery[run.query] = undefined;
    this.#free.push(run.query);
    this.#pendingRows -= run.request.rows;
  }

  #run(query: number): PipelineRun {
    const run = this.#runByQuery[query];
    assert(run !== undefined, "a query of the scheduler is open");
    return run;
  }

  #now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#options.nowMs());
    return this.#lastMs;
  }
}
