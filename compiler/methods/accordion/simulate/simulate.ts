/** Drives the scheduler of a bundle on a virtual clock. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import {
  AccordionCommands,
  DROP,
  RESHAPE,
  START,
} from "stratagem-runtime/internal/methods/accordion/core/commands";
import {
  NONE,
  type PipelineTable,
} from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import {
  AccordionScheduler,
  type AccordionSchedulerOptions,
} from "stratagem-runtime/internal/methods/accordion/core/scheduler";
import { type CountedFrom, type QueueOutcome, QueueTimes } from "../../../simulate/queue-times.ts";
import { type ServiceTimeMode, serviceRng } from "../../../simulate/service-times.ts";
import type { MachineState } from "../../../simulate/serving/machine-state.ts";
import { ServerGate } from "../../../simulate/serving/server-gate.ts";
import { BATCH, REQUEST } from "../../../simulate/serving/server-station.ts";
import {
  pacesOfMachine,
  type StationOptions,
  type Stations,
  stationsOf,
} from "../../../simulate/serving/stations.ts";
import { DrawnInstanceTimes } from "./drawn-instance-times.ts";
import { type InstanceTimes, TableTimes } from "./instance-times.ts";
import { PlaceEvents } from "./place-events.ts";
import { type AccordionArrivals, type AccordionQueries, queriesOf } from "./queries.ts";
import { RunningQueries } from "./running-queries.ts";
import { SleepingPlaces } from "./sleeping-places.ts";
import { AccordionTally, type QueryOutcome } from "./tally.ts";
import { PlaceTimeline, type PlaceTimelineSteps } from "./timeline.ts";

export interface AccordionSimulationOptions extends CountedFrom {
  readonly arrivals: AccordionArrivals;
  /**
   * Queries of a process arrive from time 0 until this time, exclusive; the simulation runs until
   * all of them have ended.
   */
  readonly durationMs: number;
  readonly seed: number;
  /** Whether stage times are those of the table, or drawn from measurements; default: p95. */
  readonly serviceTimes?: ServiceTimeMode;
  /** Parts of the serving machine to simulate; default: all that the bundle describes. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the places; default: true. */
  readonly adapts?: boolean;
  /** Step of the timeline, above 0; without it there is no timeline. */
  readonly timelineStepMs?: number;
  /** Whether the result has the latency of every query. */
  readonly withLatencies?: boolean;
  /** Replaces the bundle's own scheduler, for instance by a watched one. */
  readonly schedulerOf?: (
    bundle: AccordionBundle,
    options: AccordionSchedulerOptions,
  ) => AccordionScheduler;
}

export interface AccordionSimulationResult extends QueryOutcome, QueueOutcome {
  readonly seed: number;
  readonly durationMs: number;
  /** Time 0 to the end of the last query. */
  readonly makespanMs: number;
  /** Queries served over the makespan; 0 without queries. */
  readonly throughputQps: number;
  /** Mean share of the places that run queries, over the makespan. */
  readonly occupancy: number;
  /** Number of running queries: mean over the makespan, and maximum. */
  readonly activeQueries: { readonly mean: number; readonly max: number };
  /** Moves of running queries to other places; of them, those to fewer and to more. */
  readonly reconfigurations: number;
  readonly shrinks: number;
  readonly grows: number;
  /** Instances that were in the pipeline when their query moved, and restarted. */
  readonly instancesRedone: number;
  readonly timeline: PlaceTimelineSteps | null;
  /** Latencies in arrival order, NaN for a dropped query; null unless requested. */
  readonly latencyMsByQuery: Float64Array | null;
}

/** Maximum number of waiting and running queries; further queries are dropped. */
const QUERY_CAPACITY = 2 ** 20;

/** Random streams of one seed; those of the queries go up to 4. */
const PATH_STREAM = 5;
const SERVICE_STREAM = 6;

/**
 * Serves simulated queries with the table of a bundle, on a virtual clock, with the production
 * scheduler.
 *
 * All places are ready at time 0. The k-th instance of a run is finished when the table says; a
 * query that gets other places continues `reconfigurationMs` later. Of simultaneous events,
 * finished instances come first, since the places they free serve new arrivals; then arrivals, then
 * scheduler wake-ups. The same bundle, options and seed give the same result.
 *
 * If the bundle has a serving path, queries pass the server before the scheduler sees them, and so
 * does the last instance of each, with its answer; the hop to a place and back is part of the
 * measured stage times, so no other instance passes the server. Places contend for processors, and
 * sleeping ones wake up for the first instance.
 * @throws InputError INPUT_CONFLICT if sampled service times are requested and the bundle has no
 * quantiles.
 * Source: Accordion §3, §4.
 */
export function simulateAccordion(
  bundle: AccordionBundle,
  options: AccordionSimulationOptions,
): AccordionSimulationResult {
  const { arrivals, durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const queries = queriesOf(bundle, arrivals, durationMs, seed);
  const simulation = new PlaceSimulation(bundle, queries, options);
  simulation.run();
  return { seed, durationMs, ...simulation.outcome() };
}

/** The virtual cluster. A query is named by its slot, which is free again after its end. */
class PlaceSimulation {
  readonly #queries: AccordionQueries;
  readonly #scheduler: AccordionScheduler;
  readonly #commands = new AccordionCommands();
  readonly #stations: Stations;
  readonly #marginMs: number;
  readonly #reconfigurationMs: number;
  /** The next instance of every running query. */
  readonly #instances: PlaceEvents;
  /** Null if the wake-up delay is not known. */
  readonly #sleeping: SleepingPlaces | null;
  /** [slotCount]: whether its last instance is at the server; and instances to ignore. */
  readonly #isLastBack: Uint8Array;
  readonly #staleCount: Uint16Array;
  readonly #running: RunningQueries;
  readonly #queue: QueueTimes;
  readonly #tally: AccordionTally;
  readonly #timeline: PlaceTimeline;
  readonly #latencyMs: Float64Array | null;
  /** Places that are lost permanently; null for none, or after the loss. */
  #lost: MachineState["lost"];
  /** Null without a server that rejects queries. */
  readonly #gate: ServerGate | null;
  /** [slotCount] index of the query, and a stack of the free slots. */
  readonly #queryBySlot: Uint32Array;
  readonly #freeSlots: Uint32Array;
  #freeCount: number;
  #nextQuery = 0;
  #overCount = 0;
  #makespanMs = 0;
  /** Reused for every query, to avoid allocation. */
  readonly #ask = { model: 0, batch: 0, isHigh: false, deadlineMs: 0 };

  constructor(
    bundle: AccordionBundle,
    queries: AccordionQueries,
    options: AccordionSimulationOptions,
  ) {
    const { timelineStepMs = Number.POSITIVE_INFINITY, schedulerOf } = options;
    assert(timelineStepMs > 0, "a timeline has steps");
    const count = queries.arrivalMs.length;
    const slotCount = Math.max(1, Math.min(count, QUERY_CAPACITY));
    this.#queries = queries;
    const named = {
      queryCapacity: slotCount,
      adapt: options.adapts ?? true,
      reference: options.serviceTimes === "sampled" ? "measured" : "decision",
      contends: options.stations?.contention ?? true,
    } as const;
    this.#scheduler = schedulerOf?.(bundle, named) ?? new AccordionScheduler(bundle, named);
    const { cluster, policy } = bundle;
    const pathRng = new Rng(options.seed, PATH_STREAM);
    // Slots run on the places of their queries, which have the paces of the machine.
    options.stations?.onPace?.(this.#scheduler.pace);
    const { machine, ...parts } = options.stations ?? {};
    this.#stations = stationsOf(cluster, slotCount, pathRng, parts, false);
    this.#lost = machine?.lost ?? null;
    const paces = pacesOfMachine(options.stations ?? {}, this.#scheduler.placeCount);
    const { workers, server } = this.#stations;
    this.#marginMs = cluster.serving?.marginMs ?? 0;
    this.#reconfigurationMs = policy.reconfigurationMs;
    const { table } = this.#scheduler;
    const times = instanceTimesOf(bundle, table, slotCount, options);
    this.#running = new RunningQueries(bundle, table, slotCount, times);
    this.#queue = new QueueTimes(slotCount, options);
    this.#instances = new PlaceEvents(bundle, workers, this.#running, slotCount, paces);
    this.#sleeping = server === null ? null : new SleepingPlaces(this.#scheduler.placeCount);
    this.#isLastBack = new Uint8Array(server === null ? 0 : slotCount);
    this.#staleCount = new Uint16Array(server === null ? 0 : slotCount);
    this.#tally = new AccordionTally(queries, bundle, options);
    this.#timeline = new PlaceTimeline(timelineStepMs);
    this.#latencyMs = options.withLatencies === true ? new Float64Array(count).fill(NaN) : null;
    this.#gate = server && new ServerGate(cluster, bundle.slo.latencyMs, slotCount);
    this.#queryBySlot = new Uint32Array(slotCount);
    // The lowest slot is on top.
    this.#freeSlots = Uint32Array.from({ length: slotCount }, (_, at) => slotCount - 1 - at);
    this.#freeCount = slotCount;
  }

  run(): void {
    for (let place = 0; place < this.#scheduler.placeCount; place++) {
      this.#scheduler.onPlaceReady(place, 0, this.#commands);
      this.#carryOut(0);
    }
    const count = this.#queries.arrivalMs.length;
    while (this.#overCount < count) this.#step();
    assert(this.#scheduler.activeCount === 0, "no query runs after its end");
  }

  outcome(): Omit<AccordionSimulationResult, "seed" | "durationMs"> {
    const outcome = this.#tally.outcome();
    const { shrinks, grows, reconfigurations, instancesRedone } = this.#running;
    const timeline = this.#timeline;
    const makespanMs = this.#makespanMs;
    const over = (sum: number) => (makespanMs === 0 ? 0 : sum / makespanMs);
    return {
      ...outcome,
      queueMs: this.#queue.summary(),
      makespanMs,
      throughputQps: over(1000 * (outcome.satisfied + outcome.late)),
      occupancy: over(timeline.busyMs / this.#scheduler.placeCount),
      activeQueries: { mean: over(timeline.activeMs), max: timeline.mostActive },
      reconfigurations,
      shrinks,
      grows,
      instancesRedone,
      timeline: timeline.steps(),
      latencyMsByQuery: this.#latencyMs,
    };
  }

  /** Handles the next event. */
  #step(): void {
    const scheduler = this.#scheduler;
    const { server, toServerMs } = this.#stations;
    const sentMs = this.#queries.arrivalMs[this.#nextQuery] ?? Number.POSITIVE_INFINITY;
    const comesMs = sentMs + toServerMs;
    // Reading it may start server work, which delays instances.
    const serverMs = server === null ? Number.POSITIVE_INFINITY : server.nextMs;
    const instanceMs = this.#instances.nextMs;
    const { wakeMs } = scheduler;
    const lostMs = this.#lost?.atMs ?? Number.POSITIVE_INFINITY;
    const nowMs = Math.min(instanceMs, serverMs, comesMs, wakeMs, lostMs);
    assert(nowMs < Number.POSITIVE_INFINITY, "every waiting query starts eventually");
    if (lostMs === nowMs) this.#losePlaces(nowMs);
    else if (instanceMs === nowMs) this.#leavePipeline(nowMs);
    else if (serverMs === nowMs) this.#passServer(nowMs);
    else if (comesMs === nowMs) {
      const query = this.#nextQuery++;
      if (server === null) this.#arrive(query, nowMs);
      else server.push(nowMs, REQUEST, query);
    } else {
      scheduler.onWake(nowMs, this.#commands);
      assert(scheduler.wakeMs > nowMs, "a wake is answered");
      this.#carryOut(nowMs);
    }
    const { busyPlaceCount, activeCount, waitingCount } = scheduler;
    this.#timeline.observe(nowMs, busyPlaceCount, activeCount, waitingCount);
  }

  /** Takes a query that arrived, or the last instance of one, out of the server. */
  #passServer(nowMs: number): void {
    const { server } = this.#stations;
    assert(server !== null, "a server exists");
    const isRequest = server.nextKind === REQUEST;
    const id = server.pop();
    if (isRequest) this.#arrive(id, nowMs);
    else if ((this.#staleCount[id] ?? 0) > 0)
      this.#staleCount[id] = (this.#staleCount[id] ?? 0) - 1;
    else {
      this.#isLastBack[id] = 0;
      this.#finishInstance(id, true, nowMs);
    }
  }

  /** Loses the last places permanently. A query without places waits again. */
  #losePlaces(nowMs: number): void {
    const { placeCount } = this.#scheduler;
    const workers = this.#lost?.workers ?? 0;
    this.#lost = null;
    for (let place = Math.max(0, placeCount - workers); place < placeCount; place++) {
      const slot = this.#instances.holderOf(place);
      if (slot !== NONE) {
        this.#instances.cancel(slot, nowMs);
        this.#instances.end(slot);
      }
      this.#scheduler.onPlaceLost(place, nowMs, this.#commands);
      this.#carryOut(nowMs);
    }
  }

  #arrive(query: number, nowMs: number): void {
    if (this.#freeCount === 0 || this.#gate?.isShut === true) {
      this.#stations.server?.answer(nowMs);
      this.#over(query, Number.NaN, nowMs);
      return;
    }
    const slot = this.#freeSlots[--this.#freeCount] ?? 0;
    const { arrivalMs, model, batch, isHigh, deadlineMs } = this.#queries;
    const ask = this.#ask;
    ask.model = model[query] ?? 0;
    ask.batch = batch[query] ?? 0;
    ask.isHigh = isHigh[query] === 1;
    // The server's clock for a query starts when the query is taken up.
    const onTheWayMs = nowMs - (arrivalMs[query] ?? Number.NaN);
    ask.deadlineMs = (deadlineMs[query] ?? Number.NaN) + onTheWayMs - this.#marginMs;
    this.#queryBySlot[slot] = query;
    this.#gate?.enter(slot, ask.isHigh, nowMs);
    this.#running.admit(slot, ask.model, ask.batch);
    this.#queue.enter(slot, nowMs);
    this.#scheduler.onQuery(slot, ask, nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  /** Handles a computed instance; the last one of a query ends after passing the server. */
  #leavePipeline(nowMs: number): void {
    const slot = this.#instances.pop(nowMs);
    if (slot === NONE) return;
    const { server } = this.#stations;
    const isLast = this.#running.leavePipeline(slot);
    if (!isLast) this.#instances.goOn(slot, nowMs);
    if (isLast && server !== null) {
      this.#isLastBack[slot] = 1;
      server.push(nowMs, BATCH, slot);
    } else this.#finishInstance(slot, isLast, nowMs);
  }

  #finishInstance(slot: number, isLast: boolean, nowMs: number): void {
    this.#running.finishInstance(slot);
    if (isLast) {
      this.#running.end(slot);
      this.#sleeping?.leave(slot, nowMs);
    }
    this.#scheduler.onInstanceDone(slot, nowMs, this.#commands);
    this.#carryOut(nowMs);
    if (isLast) this.#release(slot, this.#answeredMs(nowMs), nowMs);
  }

  /** Time when the client has the answer that is written now. */
  #answeredMs(nowMs: number): number {
    const { server, toClientMs } = this.#stations;
    return server === null ? nowMs : server.answer(nowMs) + toClientMs();
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    for (let command = 0; command < commands.count; command++) {
      const kind = commands.kind(command);
      if (kind === DROP) {
        this.#stations.server?.answer(nowMs);
        this.#release(commands.query(command), Number.NaN, nowMs);
        continue;
      }
      assert(kind === START || kind === RESHAPE, "a command is of a known kind");
      if (kind === START) this.#start(command, nowMs);
      else this.#reshape(command, nowMs);
    }
    commands.clear();
  }

  #start(command: number, nowMs: number): void {
    const commands = this.#commands;
    const slot = commands.query(command);
    this.#queue.start(slot, nowMs);
    let startMs = nowMs;
    const asleep = this.#sleeping?.take(slot, commands, command, nowMs) ?? 0;
    for (let place = 0; place < asleep; place++) startMs += this.#stations.wakeMs();
    const shape = commands.shape(command);
    this.#running.start(slot, shape, commands.resumeAt(command), startMs);
    this.#instances.hold(slot, commands, command);
    this.#instances.begin(slot, nowMs, startMs);
  }

  #reshape(command: number, nowMs: number): void {
    const commands = this.#commands;
    const slot = commands.query(command);
    this.#instances.cancel(slot, nowMs);
    this.#sleeping?.take(slot, commands, command, nowMs);
    if (this.#isLastBack[slot] === 1) {
      // Ignores what is on its way, as a server does.
      this.#isLastBack[slot] = 0;
      this.#staleCount[slot] = (this.#staleCount[slot] ?? 0) + 1;
    }
    const startMs = nowMs + this.#reconfigurationMs;
    const shape = commands.shape(command);
    this.#running.reshape(slot, shape, commands.resumeAt(command), nowMs, startMs);
    this.#instances.hold(slot, commands, command);
    this.#instances.begin(slot, nowMs, startMs);
  }

  #release(slot: number, endMs: number, nowMs: number): void {
    this.#gate?.leave(slot, !Number.isNaN(endMs), nowMs);
    this.#instances.end(slot);
    this.#freeSlots[this.#freeCount++] = slot;
    if (!Number.isNaN(endMs)) this.#queue.countServed(slot);
    this.#over(this.#queryBySlot[slot] ?? 0, endMs, nowMs);
  }

  #over(query: number, endMs: number, nowMs: number): void {
    this.#overCount++;
    this.#makespanMs = Math.max(this.#makespanMs, Number.isNaN(endMs) ? nowMs : endMs);
    this.#tally.countOver(query, endMs);
    if (this.#latencyMs !== null) {
      this.#latencyMs[query] = endMs - (this.#queries.arrivalMs[query] ?? Number.NaN);
    }
  }
}

function instanceTimesOf(
  bundle: AccordionBundle,
  table: PipelineTable,
  slotCount: number,
  { serviceTimes = "p95", seed, stations }: AccordionSimulationOptions,
): InstanceTimes {
  return serviceTimes === "p95"
    ? new TableTimes(table, slotCount)
    : new DrawnInstanceTimes(bundle, serviceRng(seed, SERVICE_STREAM, stations));
}
