/** Drives Themis's dispatcher on a virtual clock. */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "stratagem-runtime/internal/core/command-buffer";
import { HISTORY_BEATS } from "stratagem-runtime/internal/core/forecasters";
import { NONE } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import { busyNames } from "stratagem-runtime/internal/core/graph/replica-shape";
import type { LoadShare } from "stratagem-runtime/internal/core/load-share";
import { Rng } from "stratagem-runtime/internal/core/rng";
import {
  type ThemisShape,
  themisShapeOf,
} from "stratagem-runtime/internal/methods/themis/core/shape";
import {
  type ThemisDispatcher,
  themisDispatcherOf,
} from "stratagem-runtime/internal/methods/themis/core/themis-dispatcher";
import { EventQueue } from "../../../simulate/event-queue.ts";
import {
  initialQpsOf,
  type RequestArrivals,
  requestsOf,
} from "../../../simulate/graph/arriving-requests.ts";
import type { FanoutMode } from "../../../simulate/graph/fanout-source.ts";
import { RequestFlow } from "../../../simulate/graph/request-flow.ts";
import { rowCountFor } from "../../../simulate/graph/row-counts.ts";
import { ScalerClock, type ScalerDelay } from "../../../simulate/graph/scaler-clock.ts";
import type { StageWatch } from "../../../simulate/graph/scalers/stage-watch.ts";
import { WatchedQueries } from "../../../simulate/graph/scalers/watched-queries.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import type { CountedFrom, QueueOutcome } from "../../../simulate/queue-times.ts";
import { type ServiceTimeMode, serviceRng } from "../../../simulate/service-times.ts";
import { NO_WORKER } from "../../../simulate/serving/processor-queues.ts";
import {
  PATH_STREAM,
  type StationOptions,
  stationsOf,
} from "../../../simulate/serving/stations.ts";
import type { WorkerEvents } from "../../../simulate/serving/worker-events.ts";
import { BatchTimes } from "./batch-times.ts";
import { DrawnBatchTimes } from "./drawn-batch-times.ts";
import { type ThemisOutcome, ThemisTally } from "./tally.ts";

export interface ThemisSimulationOptions extends CountedFrom {
  readonly arrivals: RequestArrivals;
  /**
   * Requests of a process arrive from time 0 until this time, exclusive, and are all served or
   * dropped; cost and cores are means over it.
   */
  readonly durationMs: number;
  readonly seed: number;
  /** Whether batch times are the planned ones, or drawn from measurements; default: p95. */
  readonly serviceTimes?: ServiceTimeMode;
  /** Parts of the serving machine to simulate; default: all that the bundle describes. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the instances; default: true. */
  readonly adapts?: boolean;
  /** How rows of a fan-out are drawn; default: rounded. */
  readonly fanout?: FanoutMode;
  /** Whether the result has totals of each second. */
  readonly timeline?: boolean;
  /** Index of a level that is followed whatever the traffic is. */
  readonly level?: number;
  /** Index of the level that is followed at first; default: that of the rate at time 0. */
  readonly startLevel?: number;
  /**
   * Forecast at each poll, in order, of the highest rate of a heartbeat in the next ten
   * (`pollHistories` has its input); NaN, or the end of the array, for no forecast.
   */
  readonly forecastByPoll?: Float64Array;
  /** Delay that an autoscaler adds to the start of replicas; default: none. */
  readonly scalerDelay?: ScalerDelay | undefined;
  /** Whether the result has the latency of every request. */
  readonly withLatencies?: boolean;
  /** State of other front ends that share the workers; default: none. */
  readonly share?: LoadShare;
  /** Replaces the bundle's own dispatcher, for instance by a watched one. */
  readonly dispatcherOf?: typeof themisDispatcherOf;
  /** Receives the changes at the stages, for a controller that needs them. */
  readonly watch?: StageWatch;
}

export interface ThemisSimulationResult extends ThemisOutcome, QueueOutcome {
  readonly seed: number;
  readonly durationMs: number;
  /** Latencies in arrival order, NaN for a dropped request; null unless requested. */
  readonly latencyMsByRequest: Float64Array | null;
}

/**
 * Serves simulated requests with the plans of a bundle, on a virtual clock, with the production
 * dispatcher.
 *
 * The cluster is warm: the instances of the first plan are ready at time 0, later ones
 * `coldStartMs` after they are assigned; and other cores are in force `resizeMs` after they are
 * requested, for batches that start then. Queries take the communication latency to every task.
 * Simultaneous events are applied before batches start: arrivals, deliveries, completions by task
 * and by start, instances that become ready, resizes. If the bundle has a serving path, requests
 * and batches pass the server, and batches compute under contention, each on the cores of its
 * instance. The same bundle, options and seed give the same result.
 * @throws InputError INPUT_CONFLICT if sampled service times are requested and the bundle has no
 * quantiles.
 * Source: Themis §5, §6.
 */
export function simulateThemis(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
): ThemisSimulationResult {
  const { durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const simulation = new ScaleSimulation(bundle, options);
  simulation.run();
  const latencyMsByRequest =
    options.withLatencies === true ? simulation.flow.latencyMsByRequest : null;
  const queueMs = simulation.flow.queue.summary();
  return { seed, durationMs, ...simulation.outcome(), queueMs, latencyMsByRequest };
}

/** The virtual cluster. */
class ScaleSimulation {
  readonly flow: RequestFlow;
  readonly #shape: ThemisShape;
  readonly #trace: RequestTrace;
  readonly #dispatcher: ThemisDispatcher;
  readonly #commands: CommandBuffer;
  /** Ends of batches and of cold starts; and of resizes, which overlap with batches. */
  readonly #workerEvents: WorkerEvents;
  readonly #resizes: EventQueue;
  readonly #times: BatchTimes;
  readonly #tally: ThemisTally;
  readonly #watch: StageWatch | null;
  /** Indexed by variant of all tasks. */
  readonly #accuracyByVariant: Float64Array;
  readonly #forecastByPoll: Float64Array;
  readonly #coldStartMs: number;
  readonly #scaler: ScalerClock;
  readonly #resizeMs: number;
  readonly #durationMs: number;
  /** [workerCount]: queries of the batch that a worker runs, 0 without; and its variant. */
  readonly #batchByWorker: Uint32Array;
  readonly #variantByWorker: Uint32Array;
  /** [workerCount, maxBatch] */
  readonly #batchQueries: Uint32Array;
  readonly #tickMs: number;
  /**
   * After this time without an event polls find nothing new: the history holds no requests, and as
   * many polls as must agree have seen the same.
   */
  readonly #quietMs: number;
  #eventMs = 0;
  #level: number;
  #isWarm = false;

  constructor(bundle: ThemisBundle, options: ThemisSimulationOptions) {
    const { arrivals, durationMs, seed, countedFromMs } = options;
    const shape = themisShapeOf(bundle);
    const { taskCount, workerCount } = shape;
    this.#shape = shape;
    this.#trace = requestsOf(shape.graph, arrivals, durationMs, seed, options.fanout);
    const queryCapacity = rowCountFor(this.#trace) * taskCount + busyNames(shape);
    this.#dispatcher = dispatcherFor(bundle, options, queryCapacity);
    options.stations?.onPace?.(this.#dispatcher.pace);
    if (options.share !== undefined) this.#dispatcher.onShare(options.share);
    this.#commands = new CommandBuffer(this.#dispatcher.commandCapacity, queryCapacity);
    const { cluster, slo } = bundle;
    const pathRng = new Rng(seed, PATH_STREAM);
    const stations = stationsOf(cluster, workerCount, pathRng, options.stations);
    this.#workerEvents = stations.workers;
    this.#resizes = new EventQueue(workerCount);
    this.#times = batchTimesOf(bundle, options);
    const hasTimeline = options.timeline === true;
    const { poolByWorker } = shape.replicas;
    this.#tally = new ThemisTally(bundle, poolByWorker, { durationMs, hasTimeline, countedFromMs });
    const frame = {
      graph: shape.graph,
      trace: this.#trace,
      cluster,
      sloMs: slo.latencyMs,
      stations,
      countedFromMs,
      hasLatencies: hasTimeline || options.withLatencies === true,
    };
    this.#watch = options.watch ?? null;
    const watched =
      options.watch === undefined
        ? this.#dispatcher
        : new WatchedQueries(this.#dispatcher, taskCount, options.watch);
    this.flow = new RequestFlow(frame, watched, this.#commands, this.#tally.requests);
    this.#accuracyByVariant = Float64Array.from(
      bundle.tasks.flatMap(({ variants }) => variants.map(({ accuracy }) => accuracy)),
    );
    this.#forecastByPoll = options.forecastByPoll ?? new Float64Array(0);
    this.#coldStartMs = bundle.policy.coldStartMs;
    this.#scaler = new ScalerClock(options.scalerDelay ?? null, seed);
    this.#resizeMs = bundle.policy.resizeMs;
    this.#durationMs = durationMs;
    const { tickMs, stableTicks } = bundle.policy;
    this.#tickMs = tickMs;
    this.#quietMs = beatMsOf(slo) * (HISTORY_BEATS + 2) + (stableTicks + 2) * tickMs;
    this.#batchByWorker = new Uint32Array(workerCount);
    this.#variantByWorker = new Uint32Array(workerCount);
    this.#batchQueries = new Uint32Array(workerCount * this.#times.maxBatch);
    this.#level = this.#dispatcher.level;
  }

  run(): void {
    for (let worker = 0; worker < this.#shape.workerCount; worker++) {
      this.#dispatcher.onWorkerReady(worker, 0, this.#commands);
      this.#carryOut(0);
    }
    while (this.#workerEvents.length > 0) this.#workerEvent(0);
    while (this.#resizes.length > 0) this.#resized(0);
    this.#isWarm = true;
    this.#tally.held.startCounting();
    this.#observe(0);
    this.#step();
    assert(this.flow.isOver, "every request was served or dropped");
  }

  outcome(): ThemisOutcome {
    const { burstCount, settledCount } = this.#dispatcher;
    const { arrivalMs } = this.#trace;
    const counts = { bursts: burstCount, settled: settledCount };
    return this.#tally.outcome(counts, arrivalMs, this.flow.latencyMsByRequest);
  }

  #step(): void {
    const { flow } = this;
    const workerEvents = this.#workerEvents;
    const resizes = this.#resizes;
    const dispatcher = this.#dispatcher;
    for (;;) {
      const nowMs = Math.min(flow.nextMs, workerEvents.nextMs, resizes.nextMs);
      const { wakeMs } = dispatcher;
      // Once no request is left, only scaling has events; they matter until the duration ends.
      if (flow.isOver && Math.min(nowMs, wakeMs) >= this.#durationMs) return;
      if (wakeMs < nowMs) {
        this.#wake(this.#lookMs(wakeMs, nowMs));
        continue;
      }
      this.#eventMs = nowMs;
      flow.step(nowMs);
      this.#takeBack(nowMs);
      while (workerEvents.nextMs === nowMs) this.#workerEvent(nowMs);
      while (resizes.nextMs === nowMs) this.#resized(nowMs);
      if (dispatcher.wakeMs <= nowMs) this.#wake(nowMs);
    }
  }

  /**
   * Returns the next poll; if nothing has happened for so long that polls change nothing, the last
   * poll before the next event.
   */
  #lookMs(wakeMs: number, nextMs: number): number {
    const isSeen = this.#forecastByPoll.length > 0 || this.#watch !== null;
    const isQuiet = wakeMs - this.#eventMs > this.#quietMs && !isSeen;
    const endMs = this.flow.isOver ? Math.min(nextMs, this.#durationMs) : nextMs;
    if (!isQuiet || endMs === Number.POSITIVE_INFINITY) return wakeMs;
    const lastMs = wakeMs + (Math.ceil((endMs - wakeMs) / this.#tickMs) - 1) * this.#tickMs;
    return lastMs > wakeMs && lastMs < endMs ? lastMs : wakeMs;
  }

  #wake(nowMs: number): void {
    const dispatcher = this.#dispatcher;
    const { lookCount } = dispatcher;
    dispatcher.onWake(nowMs, this.#commands);
    this.#carryOut(nowMs);
    if (dispatcher.lookCount > lookCount && lookCount < this.#forecastByPoll.length) {
      dispatcher.onForecast(this.#forecastByPoll[lookCount] ?? Number.NaN);
    }
  }

  /** Handles the end of a batch, or of a cold start. */
  #workerEvent(nowMs: number): void {
    const worker = this.#workerEvents.pop();
    if (worker === NO_WORKER) return;
    const { held } = this.#tally;
    if (held.inForce(worker) > 0) {
      if (this.flow.takesBack(worker, nowMs)) this.#finishBatch(worker, nowMs);
      return;
    }
    held.takeForce(worker, nowMs);
    this.#watch?.replicaChanges(held.taskOf(worker), 1);
    this.#dispatcher.onModelReady(worker, nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  /** Handles what the server has finished by now. */
  #takeBack(nowMs: number): void {
    const { flow } = this;
    for (let worker = flow.nextBatch(nowMs); worker !== NONE; worker = flow.nextBatch(nowMs)) {
      this.#finishBatch(worker, nowMs);
    }
  }

  #resized(nowMs: number): void {
    const worker = this.#resizes.pop();
    this.#tally.held.takeForce(worker, nowMs);
    this.#dispatcher.onResized(worker, nowMs, this.#commands);
    this.#carryOut(nowMs);
    this.#observe(nowMs);
  }

  #finishBatch(worker: number, nowMs: number): void {
    const first = worker * this.#times.maxBatch;
    const end = first + (this.#batchByWorker[worker] ?? 0);
    this.#batchByWorker[worker] = 0;
    this.#watch?.atMs(nowMs);
    this.#watch?.batchEnds(this.#tally.held.taskOf(worker), end - first);
    // No batch starts before `onWake`, so those of the worker stay in place; but it may no longer
    // be an instance of the task.
    const ranMs = this.#workerEvents.ranMs(worker);
    this.#dispatcher.onBatchDone(worker, nowMs, this.#commands, ranMs);
    this.#carryOut(nowMs);
    const accuracy = this.#accuracyByVariant[this.#variantByWorker[worker] ?? 0] ?? 0;
    for (let at = first; at < end; at++) {
      const query = this.#batchQueries[at] ?? 0;
      this.flow.serve(query, accuracy, nowMs);
    }
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    let isChanged = this.#dispatcher.level !== this.#level;
    for (let command = 0; command < commands.count; command++) {
      const kind = commands.kind(command);
      if (kind === START_BATCH) this.#runBatch(command, nowMs);
      else if (kind === DROP) this.#drop(commands.query(command, 0), nowMs);
      else {
        this.#scale(command, nowMs);
        isChanged = true;
      }
    }
    commands.clear();
    if (isChanged && this.#isWarm) this.#observe(nowMs);
  }

  #drop(query: number, nowMs: number): void {
    this.#watch?.atMs(nowMs);
    this.#watch?.queryLeaves(query % this.#shape.taskCount);
    this.flow.drop(query, nowMs);
  }

  #runBatch(command: number, nowMs: number): void {
    const commands = this.#commands;
    const worker = commands.worker(command);
    const variant = commands.variant(command);
    const task = this.#shape.taskByVariant[variant] ?? 0;
    const batch = commands.queryCount(command);
    const first = worker * this.#times.maxBatch;
    for (let position = 0; position < batch; position++) {
      const query = commands.query(command, position);
      this.#batchQueries[first + position] = query;
      this.flow.start(query, nowMs);
    }
    this.#batchByWorker[worker] = batch;
    this.#variantByWorker[worker] = variant;
    this.#tally.batches.countBatch(variant, batch);
    this.#watch?.atMs(nowMs);
    this.#watch?.batchStarts(task, batch);
    const cores = this.#tally.held.inForce(worker);
    const serviceMs = this.#times.nextMs(variant, batch, cores);
    this.#workerEvents.run(nowMs, worker, serviceMs, task, cores);
  }

  #scale(command: number, nowMs: number): void {
    const commands = this.#commands;
    const kind = commands.kind(command);
    const worker = commands.worker(command);
    const { held } = this.#tally;
    if (kind === RESIZE) {
      held.want(worker, commands.cores(command), nowMs);
      // A starting instance becomes ready with the cores wanted by then; and only the last resize
      // is confirmed.
      this.#resizes.cancel(worker);
      if (held.inForce(worker) === 0) return;
      this.#resizes.push(nowMs + (this.#isWarm ? this.#resizeMs : 0), worker);
      return;
    }
    assert(kind === ASSIGN || kind === RELEASE, "a command is of a known kind");
    if (held.isInstance(worker)) this.#stop(worker, nowMs);
    if (kind === RELEASE) return;
    const task = this.#shape.taskByVariant[commands.variant(command)] ?? 0;
    held.start(worker, task, commands.cores(command), nowMs);
    const readyMs = this.#isWarm ? this.#scaler.actsMs(nowMs) + this.#coldStartMs : nowMs;
    // After the batches that end at the same time.
    this.#workerEvents.push(readyMs, worker, this.#shape.taskCount);
  }

  #stop(worker: number, nowMs: number): void {
    assert(this.#batchByWorker[worker] === 0, "a stopped instance runs no batch");
    const { held } = this.#tally;
    if (held.inForce(worker) > 0) this.#watch?.replicaChanges(held.taskOf(worker), -1);
    // It may still be starting.
    this.#workerEvents.cancel(worker, nowMs);
    this.#resizes.cancel(worker);
    held.stop(worker, nowMs);
  }

  #observe(nowMs: number): void {
    const { level } = this.#dispatcher;
    if (level !== this.#level) this.#tally.planSwitches++;
    this.#level = level;
    this.#tally.observe(nowMs, level);
  }
}

/** Batch times have a separate random stream. */
const SERVICE_STREAM = 2;

function batchTimesOf(
  { tasks }: ThemisBundle,
  { serviceTimes = "p95", seed, stations }: ThemisSimulationOptions,
): BatchTimes {
  return serviceTimes === "p95"
    ? new BatchTimes(tasks)
    : new DrawnBatchTimes(tasks, serviceRng(seed, SERVICE_STREAM, stations));
}

function dispatcherFor(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
  queryCapacity: number,
): ThemisDispatcher {
  const { arrivals, level, startLevel, dispatcherOf = themisDispatcherOf } = options;
  // The lowest level for its own load is the level itself.
  const initialDemandQps =
    startLevel === undefined ? initialQpsOf(arrivals) : bundle.levels[startLevel]?.loadQps;
  assert(initialDemandQps !== undefined, "the simulation starts with a level of the bundle");
  return dispatcherOf(bundle, {
    queryCapacity,
    initialDemandQps,
    adapt: options.adapts ?? true,
    reference: options.serviceTimes === "sampled" ? "measured" : "decision",
    contends: options.stations?.contention ?? true,
    ...(level === undefined ? {} : { level }),
  });
}
