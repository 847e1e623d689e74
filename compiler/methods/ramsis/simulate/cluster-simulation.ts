/** The cluster on a virtual clock, with any dispatcher. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { ANY_VARIANT } from "stratagem-runtime/internal/core/wanted-variant";
import { ArrivalFeed } from "../../../simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../../../simulate/arrivals.ts";
import { LatencySample } from "../../../simulate/latency-sample.ts";
import type { QueryClasses } from "../../../simulate/query-classes.ts";
import type { QueueOutcome } from "../../../simulate/queue-times.ts";
import {
  type ServiceTimeMode,
  type ServiceTimeModel,
  serviceTimeModel,
} from "../../../simulate/service-times.ts";
import type { MachineState } from "../../../simulate/serving/machine-state.ts";
import { NO_WORKER } from "../../../simulate/serving/processor-queues.ts";
import { BATCH, REQUEST } from "../../../simulate/serving/server-station.ts";
import {
  modelsAlone,
  type StationOptions,
  type Stations,
  stationsOf,
} from "../../../simulate/serving/stations.ts";
import type { OutcomeByClass } from "./class-tally.ts";
import type { SimulatedDispatcher } from "./peers/peer.ts";
import { type CountOptions, QueryCounts } from "./query-counts.ts";
import { RunningBatches } from "./running-batches.ts";

export interface ClusterOptions extends CountOptions {
  readonly arrivals: ArrivalProcess;
  /**
   * Queries arrive from time 0 until this time, exclusive; those waiting then are still served and
   * counted.
   */
  readonly durationMs: number;
  readonly serviceTimes: ServiceTimeMode;
  readonly arrivalRng: Rng;
  readonly serviceRng: Rng;
  /** SLO, or bucket, of each query; default: all have the SLO of the bundle. */
  readonly classes?: QueryClasses;
  /** Serving path to simulate; if left out, only models take time. */
  readonly path?: { readonly stations: StationOptions; readonly rng: Rng };
}

export type ClusterOutcome = OutcomeByClass & QueueOutcome;

const NONE = -1;

/**
 * Serves simulated arrivals on the cluster of a bundle. At equal times arrivals come before
 * completions, and these before timers.
 * @param bundle describes what is served: variants, service times, SLO and the levels that the
 * outcome counts.
 */
export function simulateCluster(
  bundle: RamsisBundle,
  dispatcher: SimulatedDispatcher,
  options: ClusterOptions,
): ClusterOutcome {
  const simulation = new Simulation(bundle, dispatcher, options);
  simulation.run();
  return simulation.outcome();
}

/** The virtual cluster: waiting queries, running batches, and counts of outcomes. */
class Simulation {
  readonly #dispatcher: SimulatedDispatcher;
  readonly #commands: CommandBuffer;
  readonly #stations: Stations;
  /** Whether the end of a batch is known when it begins. */
  readonly #isForeknown: boolean;
  /** Workers that are lost permanently, the last ones, and how many of them are lost so far. */
  readonly #lost: MachineState["lost"];
  #lostCount: number;
  readonly #feed: ArrivalFeed;
  /** One per bucket, or one for all. */
  readonly #serviceTimes: readonly ServiceTimeModel[];
  readonly #hasBuckets: boolean;
  readonly #counts: QueryCounts;
  readonly #queue = new LatencySample();
  readonly #classes: QueryClasses | null;
  /** One per class, or one for all. */
  readonly #decisionSloMs: Float64Array;
  readonly #running: RunningBatches;
  /**
   * A waiting query is a slot of these arrays; the free ones are the first `#freeCount` entries of
   * `#freeSlot`.
   */
  readonly #sentMsBySlot: Float64Array;
  /** When the server had read it; NaN after its first batch, which was lost. */
  readonly #readMsBySlot: Float64Array;
  readonly #classBySlot: Uint8Array;
  readonly #freeSlot: Uint32Array;
  #freeCount: number;

  constructor(bundle: RamsisBundle, dispatcher: SimulatedDispatcher, options: ClusterOptions) {
    const task = bundle.tasks[0];
    assert(task !== undefined, "a bundle has a task");
    const { workerCount } = dispatcher;
    this.#dispatcher = dispatcher;
    this.#commands = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    const { path } = options;
    this.#stations =
      path === undefined
        ? modelsAlone(workerCount)
        : stationsOf(bundle.cluster, workerCount, path.rng, path.stations);
    this.#lost = path?.stations.machine?.lost ?? null;
    const { server, workers } = this.#stations;
    this.#isForeknown = server === null && workers.areForeknown && this.#lost === null;
    this.#lostCount = 0;
    const { arrivals, arrivalRng, durationMs } = options;
    this.#feed = new ArrivalFeed(arrivalSource(arrivals, arrivalRng), durationMs);
    const { serviceTimes, serviceRng } = options;
    const { buckets } = bundle;
    this.#hasBuckets = buckets !== undefined;
    const profiles = (buckets ?? [task]).map((one) => one.serviceTimes);
    // Decision times include contention, which is simulated separately.
    const { stretch = 1 } = bundle.cluster.serving ?? {};
    this.#serviceTimes = profiles.map((one) =>
      serviceTimeModel(one, serviceTimes, serviceRng, stretch),
    );
    const { classes } = options;
    this.#classes = classes === undefined || classes.isOne ? null : classes;
    const served = {
      variants: task.variants,
      levels: [...bundle.levels, ...(bundle.paceLevels ?? [])],
      sloMs: bundle.slo.latencyMs,
      hasBuckets: this.#hasBuckets,
    };
    const counts = new QueryCounts(served, this.#classes, options);
    this.#counts = counts;
    this.#decisionSloMs = counts.sloMs.map((sloMs) => decisionSloMs(bundle.cluster, sloMs));
    const maxBatch = Math.max(...profiles.map(({ decisionMs }) => decisionMs.shape[1] ?? 0));
    this.#running = new RunningBatches(workerCount, maxBatch);
    // One more than can wait: the current query, which may be dropped.
    const slotCount = dispatcher.waitingCapacity + 1;
    this.#sentMsBySlot = new Float64Array(slotCount);
    this.#readMsBySlot = new Float64Array(slotCount);
    this.#classBySlot = new Uint8Array(slotCount);
    this.#freeSlot = Uint32Array.from({ length: slotCount }, (_, slot) => slot);
    this.#freeCount = slotCount;
  }

  run(): void {
    const feed = this.#feed;
    const { workers, server, toServerMs } = this.#stations;
    const dispatcher = this.#dispatcher;
    for (;;) {
      const arrivalMs = feed.nextMs + toServerMs;
      const handledMs = server === null ? Number.POSITIVE_INFINITY : server.nextMs;
      const doneMs = workers.nextMs;
      const { wakeMs } = dispatcher;
      const nextMs = Math.min(arrivalMs, handledMs, doneMs, wakeMs);
      if (this.#lost !== null && this.#lostCount === 0 && this.#lost.atMs <= nextMs) {
        this.#lose(this.#lost.workers, this.#lost.atMs);
      } else if (arrivalMs <= doneMs && arrivalMs <= wakeMs && arrivalMs <= handledMs) {
        if (arrivalMs === Number.POSITIVE_INFINITY) break;
        this.#arrive(feed.nextMs, arrivalMs);
        feed.advance();
      } else if (handledMs <= doneMs && handledMs <= wakeMs) this.#handle(handledMs);
      else if (doneMs <= wakeMs) this.#complete(doneMs);
      else this.#wake(wakeMs);
    }
    assert(this.#freeCount === this.#freeSlot.length, "every query was served or dropped");
  }

  outcome(): ClusterOutcome {
    return { ...this.#counts.outcome(), queueMs: this.#queue.summary() };
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
    else this.#takeBack(worker, nowMs);
  }

  #takeUp(sentMs: number, nowMs: number): void {
    const sloClass = this.#classes?.next() ?? 0;
    const slot = this.#take(sentMs, nowMs, sloClass);
    const deadlineMs = nowMs + (this.#decisionSloMs[sloClass] ?? Number.NaN);
    this.#dispatcher.onArrival(slot, deadlineMs, nowMs, this.#commands, sloClass);
    this.#carryOut(nowMs);
  }

  #complete(nowMs: number): void {
    const { workers, server } = this.#stations;
    const worker = workers.pop();
    if (worker === NO_WORKER) return;
    if (server === null) this.#takeBack(worker, nowMs);
    else server.push(nowMs, BATCH, worker);
  }

  /** Loses the last workers permanently; their queries wait again if the dispatcher retries. */
  #lose(workers: number, nowMs: number): void {
    const { workerCount } = this.#dispatcher;
    this.#lostCount = Math.min(workers, workerCount);
    for (let worker = workerCount - this.#lostCount; worker < workerCount; worker++) {
      const isRunning = this.#stations.workers.isRunning(worker);
      this.#stations.workers.cancel(worker, nowMs);
      const row = isRunning ? this.#running.setAside(worker) : NONE;
      this.#dispatcher.onWorkerLost?.(worker, nowMs, this.#commands);
      this.#carryOut(nowMs);
      if (row !== NONE) this.#retry(row, nowMs);
    }
  }

  #retry(row: number, nowMs: number): void {
    const running = this.#running;
    const begin = running.begin(row);
    const end = begin + (running.queriesByRow[row] ?? 0);
    for (let query = begin; query < end; query++) {
      const sentMs = running.sentMs[query] ?? Number.NaN;
      const sloClass = running.sloClass[query] ?? 0;
      if (this.#dispatcher.onRetry === undefined) {
        this.#counts.countDrop(sentMs, sloClass);
        continue;
      }
      const slot = this.#take(sentMs, Number.NaN, sloClass);
      const deadlineMs = sentMs + (this.#decisionSloMs[sloClass] ?? Number.NaN);
      const out = this.#commands;
      this.#dispatcher.onRetry(slot, deadlineMs, ANY_VARIANT, nowMs, out, sloClass);
      this.#carryOut(nowMs);
    }
  }

  #take(sentMs: number, readMs: number, sloClass: number): number {
    const slot = this.#freeSlot[--this.#freeCount];
    assert(slot !== undefined, "more queries wait than the dispatcher's capacity");
    this.#sentMsBySlot[slot] = sentMs;
    this.#readMsBySlot[slot] = readMs;
    this.#classBySlot[slot] = sloClass;
    return slot;
  }

  #isLost(worker: number): boolean {
    return worker >= this.#dispatcher.workerCount - this.#lostCount;
  }

  /** Gives the worker its next batch before answers are written, as in service. */
  #takeBack(worker: number, nowMs: number): void {
    const row = this.#isForeknown ? NONE : this.#running.setAside(worker);
    if (!this.#isLost(worker)) {
      const ranMs = this.#stations.workers.ranMs(worker);
      this.#dispatcher.onBatchDone(worker, nowMs, this.#commands, ranMs);
      this.#carryOut(nowMs);
    }
    if (row !== NONE) this.#answer(row, nowMs);
  }

  #wake(nowMs: number): void {
    this.#dispatcher.onWake(nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    for (let command = 0; command < commands.count; command++) {
      if (commands.kind(command) === DROP) {
        const slot = commands.query(command, 0);
        this.#stations.server?.answer(nowMs);
        this.#counts.countDrop(
          this.#sentMsBySlot[slot] ?? Number.NaN,
          this.#classBySlot[slot] ?? 0,
        );
        this.#release(slot);
      } else {
        this.#runBatch(command, nowMs);
      }
    }
    commands.clear();
  }

  /**
   * Starts a batch: its queries no longer wait, so their slots are free. If only models take time
   * its end is known, and they are counted at once.
   */
  #runBatch(command: number, nowMs: number): void {
    const commands = this.#commands;
    const running = this.#running;
    const worker = commands.worker(command);
    const variant = commands.variant(command);
    const batch = commands.queryCount(command);
    const first = commands.query(command, 0);
    const times = this.#serviceTimes[this.#hasBuckets ? (this.#classBySlot[first] ?? 0) : 0];
    const serviceMs = times?.nextMs(variant, batch) ?? Number.NaN;
    assert(serviceMs >= 0, "a service time is at least 0");
    this.#stations.workers.run(nowMs, worker, serviceMs);
    const firstMs = this.#sentMsBySlot[first] ?? Number.NaN;
    this.#counts.countBatch(variant, commands.level(command), firstMs);
    const begin = this.#isForeknown ? NONE : running.start(worker, variant, batch);
    for (let position = 0; position < batch; position++) {
      const slot = commands.query(command, position);
      const sentMs = this.#sentMsBySlot[slot] ?? Number.NaN;
      const sloClass = this.#classBySlot[slot] ?? 0;
      const queueMs = nowMs - (this.#readMsBySlot[slot] ?? Number.NaN);
      if (!Number.isNaN(queueMs) && this.#counts.isCounted(sentMs)) this.#queue.record(queueMs);
      if (begin === NONE) {
        this.#counts.countServed(variant, sentMs, nowMs + serviceMs, sloClass, position === 0);
      } else {
        running.sentMs[begin + position] = sentMs;
        running.sloClass[begin + position] = sloClass;
      }
      this.#release(slot);
    }
  }

  /**
   * Answers the clients, one after the other.
   * @param row of the batch.
   */
  #answer(row: number, nowMs: number): void {
    const stations = this.#stations;
    const { server } = stations;
    const running = this.#running;
    const variant = running.variantByRow[row] ?? 0;
    const begin = running.begin(row);
    const end = begin + (running.queriesByRow[row] ?? 0);
    for (let query = begin; query < end; query++) {
      const endMs = server === null ? nowMs : server.answer(nowMs) + stations.toClientMs();
      const sentMs = running.sentMs[query] ?? Number.NaN;
      const sloClass = running.sloClass[query] ?? 0;
      this.#counts.countServed(variant, sentMs, endMs, sloClass, query === begin);
    }
  }

  #release(slot: number): void {
    this.#freeSlot[this.#freeCount++] = slot;
  }
}
