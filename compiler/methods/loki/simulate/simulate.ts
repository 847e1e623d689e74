/** Drives Loki's dispatcher on a virtual clock. */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  START_BATCH,
} from "stratagem-runtime/internal/core/command-buffer";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import {
  NO_PARENT,
  type PipelineDispatcher,
} from "stratagem-runtime/internal/core/graph/pipeline-dispatcher";
import {
  busyNames,
  type PipelineShape,
  pipelineShapeOf,
} from "stratagem-runtime/internal/core/graph/pipeline-shape";
import type { LoadShare } from "stratagem-runtime/internal/core/load-share";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { pipelineDispatcherOf } from "stratagem-runtime/internal/methods/loki/core/loki-dispatcher";
import { ArrivalFeed } from "../../../simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource, initialQps } from "../../../simulate/arrivals.ts";
import { DeliveryRing } from "../../../simulate/graph/delivery-ring.ts";
import { type FanoutMode, FanoutSource } from "../../../simulate/graph/fanout-source.ts";
import { pipelineServiceTimes } from "../../../simulate/graph/pipeline-service-times.ts";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import { type CountedFrom, type QueueOutcome, QueueTimes } from "../../../simulate/queue-times.ts";
import {
  type ServiceTimeMode,
  type ServiceTimeModel,
  serviceRng,
} from "../../../simulate/service-times.ts";
import type { MachineState } from "../../../simulate/serving/machine-state.ts";
import { NO_WORKER } from "../../../simulate/serving/processor-queues.ts";
import { ServerGate } from "../../../simulate/serving/server-gate.ts";
import { BATCH, REQUEST } from "../../../simulate/serving/server-station.ts";
import {
  PATH_STREAM,
  type StationOptions,
  type Stations,
  stationsOf,
} from "../../../simulate/serving/stations.ts";
import { RequestAccuracy } from "./request-accuracy.ts";
import { QuerySlots, RequestTable } from "./request-table.ts";
import { type LokiOutcome, LokiTally } from "./tally.ts";

export interface LokiSimulationOptions extends CountedFrom {
  readonly arrivals: ArrivalProcess;
  /**
   * Requests arrive from time 0 until this time, exclusive; all of their queries are still served
   * and counted.
   */
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  readonly fanout: FanoutMode;
  /** Parts of the serving machine to simulate, if the bundle describes them; default: all. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the workers; default: true. */
  readonly adapts?: boolean;
  /** Whether the result has totals of each second. */
  readonly timeline?: boolean;
  /** State of other front ends that share the workers; default: none. */
  readonly share?: LoadShare;
  /** Called for every request. */
  readonly onOutcome?: OnOutcome;
}

export interface LokiSimulationResult extends LokiOutcome, QueueOutcome {
  readonly seed: number;
  readonly durationMs: number;
}

/** Random streams of one seed: decisions never change the requests they are compared on. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;
const FANOUT_STREAM = 3;

/** Maximum queries and requests under way; further requests are dropped. */
const QUERY_CAPACITY = 2 ** 18;
/** Part of these that is reserved for waiting queries if very many can run. */
const WAITING_CAPACITY = 2 ** 16;
const REQUEST_CAPACITY = 2 ** 16;
/** Capacity of a short simulation, as a multiple of its expected requests. */
const SHORT_FACTOR = 2;
const SHORT_REQUESTS = 1024;
const QUERIES_PER_REQUEST = QUERY_CAPACITY / REQUEST_CAPACITY;

const NONE = -1;

/**
 * Serves simulated requests with the plans of a bundle, on a virtual clock, with the production
 * dispatcher.
 *
 * The cluster is warm: the demand at time 0 is known, and its plan's models are loaded. Queries
 * take the communication latency to every server. The same bundle, options and seed give the same
 * result.
 * @throws InputError INPUT_CONFLICT if sampled service times are requested and the bundle has no
 * quantiles.
 */
export function simulateLoki(
  bundle: LokiBundle,
  options: LokiSimulationOptions,
): LokiSimulationResult {
  const { durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const simulation = new PipelineSimulation(bundle, options);
  simulation.run();
  return { seed, durationMs, ...simulation.outcome(), queueMs: simulation.queue.summary() };
}

function requestCapacityFor(arrivals: ArrivalProcess, durationMs: number): number {
  if (arrivals.kind === "trace") return REQUEST_CAPACITY;
  const expected = Math.ceil((SHORT_FACTOR * arrivals.qps * durationMs) / 1000) + SHORT_REQUESTS;
  return Math.min(REQUEST_CAPACITY, expected);
}

/**
 * The virtual cluster. An event of a worker is the end of its batch, or of the loading of a model.
 */
class PipelineSimulation {
  readonly queue: QueueTimes;
  readonly #shape: PipelineShape;
  readonly #dispatcher: PipelineDispatcher;
  readonly #commands: CommandBuffer;
  readonly #feed: ArrivalFeed;
  readonly #stations: Stations;
  readonly #deliveries = new DeliveryRing();
  readonly #serviceTimes: readonly (ServiceTimeModel | null)[];
  readonly #fanouts: FanoutSource;
  readonly #requests: RequestTable;
  readonly #queries: QuerySlots;
  readonly #tally: LokiTally;
  readonly #accuracy: RequestAccuracy;
  readonly #sloMs: number;
  /** Part of the SLO that core may spend. */
  readonly #decisionSloMs: number;
  /** Null without a server that rejects requests. */
  readonly #gate: ServerGate | null;
  readonly #hopMs: number;
  readonly #loadMs: number;
  readonly #maxBatch: number;
  /** [workerCount]: whether its event is a model that is ready. */
  readonly #isLoading: Uint8Array;
  readonly #variantByWorker: Uint32Array;
  readonly #batchByWorker: Uint32Array;
  /** [workerCount + 1, maxBatch]; the last row is the batch whose outputs are handed in. */
  readonly #batchQueries: Uint32Array;
  /** Workers that are lost permanently, the last ones, and how many of them are lost so far. */
  readonly #lost: MachineState["lost"];
  #lostCount = 0;
  #level: number;
  #isWarm = false;

  constructor(bundle: LokiBundle, options: LokiSimulationOptions) {
    const { durationMs, seed, arrivals } = options;
    const shape = pipelineShapeOf(bundle);
    this.#shape = shape;
    const requestCapacity = requestCapacityFor(arrivals, durationMs);
    this.#requests = new RequestTable(requestCapacity);
    this.queue = new QueueTimes(requestCapacity, options);
    const queryCapacity =
      Math.max(QUERIES_PER_REQUEST * requestCapacity, busyNames(shape)) + WAITING_CAPACITY;
    this.#queries = new QuerySlots(queryCapacity, requestCapacity);
    this.#dispatcher = pipelineDispatcherOf(bundle, {
      queryCapacity,
      initialDemandQps: initialQps(arrivals),
      adapt: options.adapts ?? true,
      reference: options.serviceTimes === "sampled" ? "measured" : "decision",
      contends: options.stations?.contention ?? true,
    });
    if (this.#dispatcher.pace !== undefined) options.stations?.onPace?.(this.#dispatcher.pace);
    if (options.share !== undefined) this.#dispatcher.onShare(options.share);
    const { commandCapacity } = this.#dispatcher;
    this.#commands = new CommandBuffer(commandCapacity, queryCapacity);
    this.#feed = new ArrivalFeed(
      arrivalSource(arrivals, new Rng(seed, ARRIVAL_STREAM)),
      durationMs,
    );
    const pathRng = new Rng(seed, PATH_STREAM);
    this.#stations = stationsOf(bundle.cluster, shape.workerCount, pathRng, options.stations);
    this.#serviceTimes = pipelineServiceTimes(
      bundle,
      options.serviceTimes,
      serviceRng(seed, SERVICE_STREAM, options.stations),
    );
    this.#fanouts = new FanoutSource(options.fanout, new Rng(seed, FANOUT_STREAM));
    const seconds = options.timeline === true ? Math.ceil(durationMs / 1000) : null;
    this.#tally = new LokiTally(bundle, seconds, options);
    this.#accuracy = new RequestAccuracy(bundle, requestCapacity);
    this.#sloMs = bundle.slo.latencyMs;
    this.#decisionSloMs = decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
    const { server } = this.#stations;
    this.#gate = server && new ServerGate(bundle.cluster, this.#sloMs, requestCapacity);
    this.#hopMs = bundle.cluster.communicationLatencyMs;
    this.#loadMs = bundle.policy.modelLoadMs;
    this.#maxBatch = Math.max(...shape.maxBatch);
    this.#isLoading = new Uint8Array(shape.workerCount);
    this.#variantByWorker = new Uint32Array(shape.workerCount);
    this.#batchByWorker = new Uint32Array(shape.workerCount);
    this.#batchQueries = new Uint32Array((shape.workerCount + 1) * this.#maxBatch);
    this.#lost = options.stations?.machine?.lost ?? null;
    this.#level = this.#dispatcher.level;
  }

  run(): void {
    const { workerCount } = this.#dispatcher;
    for (let worker = 0; worker < workerCount; worker++) {
      this.#dispatcher.onWorkerReady(worker, 0, this.#commands);
      this.#carryOut(0);
    }
    while (this.#stations.workers.length > 0) this.#workerEvent(0);
    this.#isWarm = true;
    this.#step();
    const { openRequests } = this.#requests;
    assert(openRequests === 0, "every request was served or dropped");
    assert(this.#queries.usedCount === 0, "every query was served or dropped");
  }

  outcome(): LokiOutcome {
    return this.#tally.outcome();
  }

  /**
   * At equal times requests come before deliveries, these before finished server work, and that
   * before the events of workers.
   */
  #step(): void {
    const feed = this.#feed;
    const deliveries = this.#deliveries;
    const { workers, server, toServerMs } = this.#stations;
    const dispatcher = this.#dispatcher;
    for (;;) {
      const arrivalMs = feed.nextMs + toServerMs;
      const deliveryMs = deliveries.nextMs;
      const handledMs = server === null ? Number.POSITIVE_INFINITY : server.nextMs;
      const eventMs = workers.nextMs;
      const { wakeMs } = dispatcher;
      const soonestMs = Math.min(arrivalMs, deliveryMs, handledMs, eventMs);
      const lost = this.#lostCount === 0 ? this.#lost : null;
      if (lost !== null && lost.atMs <= Math.min(wakeMs, soonestMs)) {
        this.#lose(lost.workers, lost.atMs);
      } else if (wakeMs < soonestMs) {
        if (soonestMs === Number.POSITIVE_INFINITY && this.#requests.openRequests === 0) return;
        dispatcher.onWake(wakeMs, this.#commands);
        this.#carryOut(wakeMs);
      } else if (arrivalMs === soonestMs) {
        if (arrivalMs === Number.POSITIVE_INFINITY) return;
        this.#arrive(feed.nextMs, arrivalMs);
        feed.advance();
      } else if (deliveryMs === soonestMs) this.#deliver(deliveries.pop(), deliveryMs);
      else if (handledMs === soonestMs) this.#handle(handledMs);
      else this.#workerEvent(eventMs);
    }
  }

  #arrive(sentMs: number, nowMs: number): void {
    const { server } = this.#stations;
    if (server === null) this.#takeUp(sentMs, nowMs);
    else server.push(nowMs, REQUEST, 0, sentMs);
  }

  /** Handles finished work of the server's process. */
  #handle(nowMs: number): void {
    const { server } = this.#stations;
    assert(server !== null, "a server exists");
    const { nextKind, nextSentMs } = server;
    const worker = server.pop();
    if (nextKind === REQUEST) this.#takeUp(nextSentMs, nowMs);
    else this.#finishBatch(worker, nowMs);
  }

  #takeUp(sentMs: number, nowMs: number): void {
    const tally = this.#tally;
    tally.countRequest(sentMs);
    // A request that the gate rejects counts as demand.
    const isAdmitted = this.#dispatcher.onRequest(nowMs) && this.#gate?.isShut !== true;
    const deadlineMs = nowMs + this.#decisionSloMs;
    const request = isAdmitted ? this.#requests.open(sentMs, deadlineMs) : NONE;
    if (request === NONE) {
      this.#stations.server?.answer(nowMs);
      tally.countDropped(sentMs);
      return;
    }
    this.#gate?.enter(request, true, nowMs);
    const { entryTasks, entryShareByTask } = this.#shape;
    this.#accuracy.open(request);
    // Servers count the hop to a worker as part of the batch.
    this.queue.enter(request, nowMs + this.#hopMs);
    // Held open while its queries are made: one may be dropped before the next has arrived.
    this.#requests.openCount[request] = 1;
    for (const task of entryTasks) {
      this.#send(request, task, this.#fanouts.rounded(entryShareByTask[task] ?? 0), NONE, nowMs);
    }
    this.#closeOne(request, nowMs);
  }

  /** Sends queries to a task; without a hop they arrive at once. */
  #send(request: number, task: number, count: number, parent: number, nowMs: number): void {
    const queries = this.#queries;
    const requests = this.#requests;
    const cell = parent === NONE ? 0 : (queries.pathCell[parent] ?? 0);
    for (let sent = 0; sent < count; sent++) {
      if (requests.isDropped[request] === 1) return;
      if (!queries.hasFree) {
        this.#drop(request, nowMs);
        return;
      }
      const query = queries.open(request, task, parent, cell);
      requests.openCount[request] = (requests.openCount[request] ?? 0) + 1;
      if (parent !== NONE) queries.hold(parent);
      this.#tally.queriesByTask[task] = (this.#tally.queriesByTask[task] ?? 0) + 1;
      if (this.#hopMs > 0) this.#deliveries.push(nowMs + this.#hopMs, query);
      else this.#deliver(query, nowMs);
    }
  }

  #deliver(query: number, nowMs: number): void {
    const queries = this.#queries;
    const request = queries.request[query] ?? 0;
    const parent = queries.parent[query] ?? NONE;
    if (this.#requests.isDropped[request] === 1) {
      this.#release(query, nowMs);
    } else {
      const deadlineMs = this.#requests.deadlineMs[request] ?? Number.NaN;
      const from = parent === NONE ? NO_PARENT : parent;
      const task = queries.task[query] ?? 0;
      this.#dispatcher.onQuery(query, task, from, deadlineMs, nowMs, this.#commands);
      this.#carryOut(nowMs);
    }
    if (parent !== NONE) queries.releaseHold(parent);
  }

  #workerEvent(nowMs: number): void {
    const { workers, server } = this.#stations;
    const worker = workers.pop();
    if (worker === NO_WORKER) return;
    if (this.#isLoading[worker] === 1) {
      this.#isLoading[worker] = 0;
      this.#dispatcher.onModelReady(worker, nowMs, this.#commands);
      this.#carryOut(nowMs);
    } else if (server === null) this.#finishBatch(worker, nowMs);
    else server.push(nowMs, BATCH, worker);
  }

  /** Loses the last workers permanently; their queries wait again. */
  #lose(workers: number, nowMs: number): void {
    const { workerCount } = this.#shape;
    this.#lostCount = Math.min(workers, workerCount);
    for (let worker = workerCount - this.#lostCount; worker < workerCount; worker++) {
      const isRunning = this.#stations.workers.isRunning(worker) && this.#isLoading[worker] === 0;
      this.#stations.workers.cancel(worker, nowMs);
      this.#isLoading[worker] = 0;
      this.#dispatcher.onWorkerLost(worker, nowMs, this.#commands);
      this.#carryOut(nowMs);
      if (isRunning) this.#retry(worker, nowMs);
    }
  }

  #retry(worker: number, nowMs: number): void {
    const row = worker * this.#maxBatch;
    for (let position = 0; position < (this.#batchByWorker[worker] ?? 0); position++) {
      const query = this.#batchQueries[row + position] ?? 0;
      const task = this.#queries.task[query] ?? 0;
      if (this.#requests.isDropped[this.#queries.request[query] ?? 0] === 1) {
        this.#release(query, nowMs);
        continue;
      }
      this.#dispatcher.onRetry(query, task, nowMs, this.#commands);
      this.#carryOut(nowMs);
    }
  }

  /**
   * Finishes a batch. The worker may start its next batch before the outputs of this one are handed
   * in, so its queries are copied.
   */
  #finishBatch(worker: number, nowMs: number): void {
    const batch = this.#batchByWorker[worker] ?? 0;
    const variant = this.#variantByWorker[worker] ?? 0;
    const row = worker * this.#maxBatch;
    const aside = this.#shape.workerCount * this.#maxBatch;
    this.#batchQueries.copyWithin(aside, row, row + batch);
    if (worker < this.#shape.workerCount - this.#lostCount) {
      const ranMs = this.#stations.workers.ranMs(worker);
      this.#dispatcher.onBatchDone(worker, nowMs, this.#commands, ranMs);
      this.#carryOut(nowMs);
    }
    for (let position = 0; position < batch; position++) {
      const query = this.#batchQueries[aside + position] ?? 0;
      const request = this.#queries.request[query] ?? 0;
      this.#requests.doneMs[request] = nowMs;
      if (this.#requests.isDropped[request] === 0) this.#handOn(query, variant, nowMs);
      this.#release(query, nowMs);
    }
  }

  /** Counts the accuracy of a leaf query; sends on the outputs of any other. */
  #handOn(query: number, variant: number, nowMs: number): void {
    const shape = this.#shape;
    const queries = this.#queries;
    const requests = this.#requests;
    const task = queries.task[query] ?? 0;
    const request = queries.request[query] ?? 0;
    const first = shape.variantStart[task] ?? 0;
    const variantCount = (shape.variantStart[task + 1] ?? 0) - first;
    const cell = (queries.pathCell[query] ?? 0) * variantCount + variant - first;
    queries.pathCell[query] = cell;
    if (this.#accuracy.isLeaf(task)) {
      this.#accuracy.record(request, task, cell);
      requests.leafDoneMs[request] = nowMs;
      return;
    }
    const begin = shape.childStart[task] ?? 0;
    const end = shape.childStart[task + 1] ?? 0;
    for (let edge = begin; edge < end; edge++) {
      const child = shape.childTask[edge] ?? 0;
      const mean = shape.fanout[(shape.fanoutStart[variant] ?? 0) + edge - begin] ?? 0;
      const count = this.#fanouts.next(mean);
      this.#dispatcher.onFanout(query, child, count);
      this.#send(request, child, count, query, nowMs);
    }
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    const dispatcher = this.#dispatcher;
    for (let command = 0; command < commands.count; command++) {
      switch (commands.kind(command)) {
        case START_BATCH:
          this.#runBatch(command, nowMs);
          break;
        case DROP:
          this.#giveUp(commands.query(command, 0), nowMs);
          break;
        case ASSIGN:
          this.#load(commands.worker(command), nowMs);
          break;
      }
    }
    commands.clear();
    if (dispatcher.level !== this.#level) {
      this.#level = dispatcher.level;
      this.#tally.planSwitches++;
    }
    this.#tally.observe(nowMs, dispatcher.servers, this.#level);
  }

  #runBatch(command: number, nowMs: number): void {
    const commands = this.#commands;
    const worker = commands.worker(command);
    const variant = commands.variant(command);
    const batch = commands.queryCount(command);
    const pool = this.#shape.poolByWorker[worker] ?? 0;
    const model = this.#serviceTimes[variant * this.#shape.poolCount + pool];
    const ms = model?.nextMs(0, batch) ?? Number.NaN;
    assert(ms >= 0, "a service time is at least 0");
    const row = worker * this.#maxBatch;
    this.#variantByWorker[worker] = variant;
    this.#batchByWorker[worker] = batch;
    for (let position = 0; position < batch; position++) {
      const query = commands.query(command, position);
      this.#batchQueries[row + position] = query;
      this.queue.start(this.#queries.request[query] ?? 0, nowMs);
      const task = this.#queries.task[query] ?? 0;
      this.#tally.servedByTask[task] = (this.#tally.servedByTask[task] ?? 0) + 1;
    }
    this.#tally.countBatch(variant, commands.level(command), batch);
    this.#stations.workers.run(nowMs, worker, ms);
  }

  #load(worker: number, nowMs: number): void {
    this.#isLoading[worker] = 1;
    this.#stations.workers.push(nowMs + (this.#isWarm ? this.#loadMs : 0), worker);
    if (this.#isWarm) this.#tally.modelLoads++;
  }

  #giveUp(query: number, nowMs: number): void {
    this.#drop(this.#queries.request[query] ?? 0, nowMs);
    this.#release(query, nowMs);
  }

  /** Fails a request and answers it: its waiting queries cost no more work. */
  #drop(request: number, nowMs: number): void {
    const queries = this.#queries;
    const requests = this.#requests;
    if (requests.isDropped[request] === 1) return;
    requests.isDropped[request] = 1;
    this.#gate?.leave(request, false, nowMs);
    this.#stations.server?.answer(nowMs);
    this.#tally.countDropped(requests.sentMs[request] ?? Number.NaN);
    let sibling = queries.firstOfRequest[request] ?? NONE;
    while (sibling !== NONE) {
      const next = queries.next[sibling] ?? NONE;
      if (this.#dispatcher.onCancel(sibling)) this.#release(sibling, nowMs);
      sibling = next;
    }
  }

  #release(query: number, nowMs: number): void {
    const request = this.#queries.request[query] ?? 0;
    this.#queries.unlink(query);
    this.#queries.releaseHold(query);
    this.#closeOne(request, nowMs);
  }

  #closeOne(request: number, nowMs: number): void {
    const requests = this.#requests;
    const open = (requests.openCount[request] ?? 0) - 1;
    requests.openCount[request] = open;
    if (open > 0) return;
    if (requests.isDropped[request] === 0) this.#countServed(request, nowMs);
    requests.close(request);
  }

  #countServed(request: number, nowMs: number): void {
    const requests = this.#requests;
    const sentMs = requests.sentMs[request] ?? Number.NaN;
    this.#gate?.leave(request, true, nowMs);
    const endMs = this.#endMs(request, nowMs);
    // The deadline is the dispatcher's own sum; end − sent <= SLO would round differently.
    const satisfied = endMs <= sentMs + this.#sloMs;
    this.#tally.countServed(sentMs, endMs - sentMs, satisfied, this.#accuracy.of(request));
    this.queue.countServed(request);
  }

  /**
   * Time when its client has the answer; without a server that writes it, the time of the answer.
   */
  #endMs(request: number, nowMs: number): number {
    const { server } = this.#stations;
    if (server !== null) return server.answer(nowMs) + this.#stations.toClientMs();
    const leafDoneMs = this.#requests.leafDoneMs[request] ?? Number.NaN;
    const isLeafless = leafDoneMs === Number.NEGATIVE_INFINITY;
    return isLeafless ? (this.#requests.doneMs[request] ?? Number.NaN) : leafDoneMs;
  }
}
