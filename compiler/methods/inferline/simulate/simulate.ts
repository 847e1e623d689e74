/** Drives InferLine's dispatcher on a virtual clock: the Estimator in its plain form. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  RELEASE,
  START_BATCH,
} from "stratagem-runtime/internal/core/command-buffer";
import { NONE } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import {
  busyNames,
  type ReplicaShape,
  replicaShapeOf,
} from "stratagem-runtime/internal/core/graph/replica-shape";
import type { LoadShare } from "stratagem-runtime/internal/core/load-share";
import { Rng } from "stratagem-runtime/internal/core/rng";
import {
  type InferlineDispatcher,
  inferlineDispatcherOf,
} from "stratagem-runtime/internal/methods/inferline/core/inferline-dispatcher";
import type { ReplicaTuner } from "stratagem-runtime/internal/methods/inferline/core/replica-tuner";
import {
  initialQpsOf,
  type RequestArrivals,
  requestsOf,
} from "../../../simulate/graph/arriving-requests.ts";
import type { FanoutMode } from "../../../simulate/graph/fanout-source.ts";
import { pipelineServiceTimes } from "../../../simulate/graph/pipeline-service-times.ts";
import { RequestFlow } from "../../../simulate/graph/request-flow.ts";
import { rowCountFor } from "../../../simulate/graph/row-counts.ts";
import { ScalerClock, type ScalerDelay } from "../../../simulate/graph/scaler-clock.ts";
import type { StageWatch } from "../../../simulate/graph/scalers/stage-watch.ts";
import { WatchedQueries } from "../../../simulate/graph/scalers/watched-queries.ts";
import type { CountedFrom, QueueOutcome } from "../../../simulate/queue-times.ts";
import {
  type ServiceTimeMode,
  type ServiceTimeModel,
  serviceRng,
} from "../../../simulate/service-times.ts";
import type { MachineState } from "../../../simulate/serving/machine-state.ts";
import { NO_WORKER } from "../../../simulate/serving/processor-queues.ts";
import {
  PATH_STREAM,
  type StationOptions,
  stationsOf,
} from "../../../simulate/serving/stations.ts";
import type { WorkerEvents } from "../../../simulate/serving/worker-events.ts";
import { type InferlineOutcome, InferlineTally } from "./tally.ts";

export interface InferlineSimulationOptions extends CountedFrom {
  readonly arrivals: RequestArrivals;
  /**
   * Requests of a process arrive from time 0 until this time, exclusive, and are all served; cost
   * and replicas are means over it.
   */
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  /** Parts of the serving machine to simulate; default: all that the bundle describes. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the workers; default: true. */
  readonly adapts?: boolean;
  /** How rows of a fan-out are drawn; default: rounded. */
  readonly fanout?: FanoutMode;
  /** Whether the result has totals of each second. */
  readonly timeline?: boolean;
  /** Index of a level that is followed whatever the traffic is. */
  readonly level?: number;
  /** State of other front ends that share the workers; default: none. */
  readonly share?: LoadShare;
  /** Replaces the bundle's tuner; it is new, and made for the level that is followed first. */
  readonly tuner?: ReplicaTuner;
  /** Receives the changes at the stages, for a tuner that needs them. */
  readonly watch?: StageWatch;
  /** Delay that an autoscaler adds to the start of replicas; default: none. */
  readonly scalerDelay?: ScalerDelay | undefined;
  /** Whether the result has the latency of every request. */
  readonly withLatencies?: boolean;
}

export interface InferlineSimulationResult extends InferlineOutcome, QueueOutcome {
  readonly seed: number;
  readonly durationMs: number;
  /** Latencies in arrival order, NaN for a dropped request; null unless requested. */
  readonly latencyMsByRequest: Float64Array | null;
}

const SERVICE_STREAM = 2;

/**
 * Serves simulated requests with the plans of a bundle, on a virtual clock, with the production
 * dispatcher: the Estimator in its plain form.
 *
 * The cluster is warm: the replicas of the first plan are ready at time 0, later ones
 * `activationMs` after they are assigned. Queries take the communication latency to every task.
 * Simultaneous events are applied before batches start: arrivals, deliveries, then completions by
 * task and by start. If the bundle has a serving path, requests and batches pass the server, and
 * batches compute under contention. The same bundle, options and seed give the same result.
 * @throws InputError INPUT_CONFLICT if sampled service times are requested and the bundle has no
 * quantiles.
 * Source: InferLine §4.2.
 */
export function simulateInferline(
  bundle: InferlineBundle,
  options: InferlineSimulationOptions,
): InferlineSimulationResult {
  const { durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const simulation = new StageSimulation(bundle, options);
  simulation.run();
  const { latencyMsByRequest, queue } = simulation.flow;
  const queueMs = queue.summary();
  return { seed, durationMs, ...simulation.outcome(), queueMs, latencyMsByRequest };
}

/** The virtual cluster. */
class StageSimulation {
  readonly flow: RequestFlow;
  readonly #shape: ReplicaShape;
  readonly #dispatcher: InferlineDispatcher;
  readonly #commands: CommandBuffer;
  readonly #workerEvents: WorkerEvents;
  readonly #serviceTimes: readonly (ServiceTimeModel | null)[];
  readonly #tally: InferlineTally;
  readonly #watch: StageWatch | null;
  readonly #accuracyByVariant: Float64Array;
  readonly #activationMs: number;
  readonly #scaler: ScalerClock;
  readonly #durationMs: number;
  readonly #maxBatch: number;
  /**
   * [workerCount]: variant that a worker holds or loads, −1 without; whether it loads; and the
   * batch it runs.
   */
  readonly #variantByWorker: Int32Array;
  readonly #isLoading: Uint8Array;
  readonly #batchByWorker: Uint32Array;
  /** [workerCount, maxBatch] */
  readonly #batchQueries: Uint32Array;
  /** Workers that are lost permanently, the last ones, and how many of them are lost so far. */
  readonly #lost: MachineState["lost"];
  #lostCount = 0;
  #level: number;
  #isWarm = false;

  constructor(bundle: InferlineBundle, options: InferlineSimulationOptions) {
    const { arrivals, durationMs, seed } = options;
    const shape = replicaShapeOf(bundle);
    const { taskCount, workerCount } = shape;
    this.#shape = shape;
    const trace = requestsOf(shape.graph, arrivals, durationMs, seed, options.fanout);
    this.#maxBatch = Math.max(...shape.maxBatchByTaskPool);
    const queryCapacity = rowCountFor(trace) * taskCount + busyNames(shape);
    const { level, tuner } = options;
    this.#dispatcher = inferlineDispatcherOf(bundle, {
      queryCapacity,
      initialDemandQps: initialQpsOf(arrivals),
      adapt: options.adapts ?? true,
      reference: options.serviceTimes === "sampled" ? "measured" : "decision",
      contends: options.stations?.contention ?? true,
      ...(level === undefined ? {} : { level }),
      ...(tuner === undefined ? {} : { tuner }),
    });
    options.stations?.onPace?.(this.#dispatcher.pace);
    if (options.share !== undefined) this.#dispatcher.onShare(options.share);
    this.#commands = new CommandBuffer(this.#dispatcher.commandCapacity, queryCapacity);
    const { cluster, slo } = bundle;
    const pathRng = new Rng(seed, PATH_STREAM);
    const stations = stationsOf(cluster, workerCount, pathRng, options.stations);
    this.#workerEvents = stations.workers;
    const rng = serviceRng(seed, SERVICE_STREAM, options.stations);
    this.#serviceTimes = pipelineServiceTimes(bundle, options.serviceTimes, rng);
    this.#tally = new InferlineTally(bundle, durationMs, options.timeline === true, options);
    const frame = {
      graph: shape.graph,
      trace,
      cluster,
      sloMs: slo.latencyMs,
      stations,
      countedFromMs: options.countedFromMs,
      hasLatencies: options.withLatencies === true,
    };
    this.#watch = options.watch ?? null;
    const desk =
      options.watch === undefined
        ? this.#dispatcher
        : new WatchedQueries(this.#dispatcher, taskCount, options.watch);
    this.flow = new RequestFlow(frame, desk, this.#commands, this.#tally.requests);
    this.#accuracyByVariant = Float64Array.from(
      bundle.tasks.flatMap(({ variants }) => variants.map(({ accuracy }) => accuracy)),
    );
    this.#activationMs = bundle.policy.activationMs;
    this.#scaler = new ScalerClock(options.scalerDelay ?? null, seed);
    this.#durationMs = durationMs;
    this.#variantByWorker = new Int32Array(workerCount).fill(-1);
    this.#isLoading = new Uint8Array(workerCount);
    this.#batchByWorker = new Uint32Array(workerCount);
    this.#batchQueries = new Uint32Array(workerCount * this.#maxBatch);
    this.#lost = options.stations?.machine?.lost ?? null;
    this.#level = this.#dispatcher.level;
  }

  run(): void {
    for (let worker = 0; worker < this.#shape.workerCount; worker++) {
      this.#dispatcher.onWorkerReady(worker, 0, this.#commands);
      this.#carryOut(0);
    }
    while (this.#workerEvents.length > 0) this.#workerEvent(0);
    this.#isWarm = true;
    this.#tally.replicas.startCounting();
    this.#observe(0);
    this.#step();
    assert(this.flow.isOver, "every request was served");
    assert(this.flow.lostCount === 0 || this.#lostCount > 0, "no request was dropped");
  }

  outcome(): InferlineOutcome {
    return this.#tally.outcome();
  }

  #step(): void {
    const { flow } = this;
    const workerEvents = this.#workerEvents;
    const dispatcher = this.#dispatcher;
    for (;;) {
      const nowMs = Math.min(flow.nextMs, workerEvents.nextMs);
      const { wakeMs } = dispatcher;
      const lost = this.#lostCount === 0 ? this.#lost : null;
      if (lost !== null && lost.atMs <= Math.min(wakeMs, nowMs)) {
        this.#lose(lost.workers, lost.atMs);
        continue;
      }
      if (wakeMs < nowMs) {
        // Once no request is under way, only the tuner has events; they matter until the duration
        // ends.
        if (nowMs === Number.POSITIVE_INFINITY && wakeMs >= this.#durationMs) return;
        this.#wake(wakeMs);
        continue;
      }
      if (nowMs === Number.POSITIVE_INFINITY) return;
      flow.step(nowMs);
      this.#takeBack(nowMs);
      while (workerEvents.nextMs === nowMs) this.#workerEvent(nowMs);
      if (dispatcher.wakeMs <= nowMs) this.#wake(nowMs);
    }
  }

  #wake(nowMs: number): void {
    this.#dispatcher.onWake(nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  #workerEvent(nowMs: number): void {
    const worker = this.#workerEvents.pop();
    if (worker === NO_WORKER) return;
    if (this.#isLoading[worker] === 1) {
      this.#isLoading[worker] = 0;
      this.#watch?.replicaChanges(this.#taskOf(worker), 1);
      this.#dispatcher.onModelReady(worker, nowMs, this.#commands);
      this.#carryOut(nowMs);
    } else if (this.flow.takesBack(worker, nowMs)) this.#finishBatch(worker, nowMs);
  }

  /** Loses the last workers permanently; their queries wait again. */
  #lose(workers: number, nowMs: number): void {
    const { workerCount } = this.#shape;
    this.#lostCount = Math.min(workers, workerCount);
    for (let worker = workerCount - this.#lostCount; worker < workerCount; worker++) {
      const task = this.#taskOf(worker);
      const isRunning = this.#workerEvents.isRunning(worker) && this.#isLoading[worker] === 0;
      if (isRunning) this.#workerEvents.cancel(worker, nowMs);
      this.#release(worker, nowMs);
      this.#dispatcher.onWorkerLost(worker, nowMs, this.#commands);
      this.#carryOut(nowMs);
      for (let at = 0; isRunning && at < (this.#batchByWorker[worker] ?? 0); at++) {
        const query = this.#batchQueries[worker * this.#maxBatch + at] ?? 0;
        this.#dispatcher.onRetry(query, task, nowMs, this.#commands);
        this.#carryOut(nowMs);
      }
    }
  }

  /** Handles what the server has finished by now. */
  #takeBack(nowMs: number): void {
    const { flow } = this;
    for (let worker = flow.nextBatch(nowMs); worker !== NONE; worker = flow.nextBatch(nowMs)) {
      this.#finishBatch(worker, nowMs);
    }
  }

  #finishBatch(worker: number, nowMs: number): void {
    const first = worker * this.#maxBatch;
    const end = first + (this.#batchByWorker[worker] ?? 0);
    const accuracy = this.#accuracyByVariant[this.#variantByWorker[worker] ?? -1] ?? Number.NaN;
    this.#watch?.atMs(nowMs);
    this.#watch?.batchEnds(this.#taskOf(worker), end - first);
    // No batch starts before `onWake`, so those of the worker stay in place.
    if (worker < this.#shape.workerCount - this.#lostCount) {
      const ranMs = this.#workerEvents.ranMs(worker);
      this.#dispatcher.onBatchDone(worker, nowMs, this.#commands, ranMs);
      this.#carryOut(nowMs);
    }
    for (let at = first; at < end; at++) {
      this.flow.serve(this.#batchQueries[at] ?? 0, accuracy, nowMs);
    }
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    let isChanged = this.#dispatcher.level !== this.#level;
    for (let command = 0; command < commands.count; command++) {
      const kind = commands.kind(command);
      const worker = commands.worker(command);
      if (kind === START_BATCH) this.#runBatch(command, worker, nowMs);
      else if (kind === DROP && this.#lostCount > 0) {
        this.flow.drop(commands.query(command, 0), nowMs);
      } else {
        assert(kind === ASSIGN || kind === RELEASE, "no query is dropped");
        this.#release(worker, nowMs);
        if (kind === ASSIGN) this.#assign(worker, commands.variant(command), nowMs);
        isChanged = true;
      }
    }
    commands.clear();
    if (isChanged && this.#isWarm) this.#observe(nowMs);
  }

  #runBatch(command: number, worker: number, nowMs: number): void {
    const commands = this.#commands;
    const batch = commands.queryCount(command);
    const variant = commands.variant(command);
    const pool = this.#shape.poolByWorker[worker] ?? 0;
    const model = this.#serviceTimes[variant * this.#shape.poolCount + pool];
    const serviceMs = model?.nextMs(0, batch) ?? Number.NaN;
    assert(serviceMs >= 0, "a service time is at least 0");
    const first = worker * this.#maxBatch;
    for (let position = 0; position < batch; position++) {
      const query = commands.query(command, position);
      this.#batchQueries[first + position] = query;
      this.flow.start(query, nowMs);
    }
    this.#batchByWorker[worker] = batch;
    this.#tally.batches.countBatch(variant, batch);
    const task = this.#shape.taskByVariant[variant] ?? 0;
    this.#watch?.atMs(nowMs);
    this.#watch?.batchStarts(task, batch);
    this.#workerEvents.run(nowMs, worker, serviceMs, task);
  }

  #assign(worker: number, variant: number, nowMs: number): void {
    this.#variantByWorker[worker] = variant;
    this.#isLoading[worker] = 1;
    const readyMs = this.#isWarm ? this.#scaler.actsMs(nowMs) + this.#activationMs : nowMs;
    // After the batches that end at the same time.
    this.#workerEvents.push(readyMs, worker, this.#shape.taskCount);
    this.#count(worker, 1, nowMs);
  }

  /** Unloads the model that a worker holds or loads, if any. */
  #release(worker: number, nowMs: number): void {
    if (this.#variantByWorker[worker] === -1) return;
    this.#count(worker, -1, nowMs);
    if (this.#isLoading[worker] === 1) this.#workerEvents.cancel(worker, nowMs);
    else this.#watch?.replicaChanges(this.#taskOf(worker), -1);
    this.#isLoading[worker] = 0;
    this.#variantByWorker[worker] = -1;
  }

  #count(worker: number, change: number, nowMs: number): void {
    const pool = this.#shape.poolByWorker[worker] ?? 0;
    this.#tally.replicas.change(this.#taskOf(worker), pool, change, nowMs);
  }

  /** Returns the task of a worker that holds a model or loads it. */
  #taskOf(worker: number): number {
    return this.#shape.taskByVariant[this.#variantByWorker[worker] ?? 0] ?? 0;
  }

  #observe(nowMs: number): void {
    const { level } = this.#dispatcher;
    if (level !== this.#level) this.#tally.planSwitches++;
    this.#level = level;
    this.#tally.observe(nowMs, level);
  }
}
