/** Drives the scheduler of a bundle on a virtual clock. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  AccordionCommands,
  DROP,
  RESHAPE,
  START,
} from "stratagem-runtime/internal/methods/accordion/core/commands";
import {
  AccordionScheduler,
  type AccordionSchedulerOptions,
} from "stratagem-runtime/internal/methods/accordion/core/scheduler";
import { EventQueue } from "../../../simulate/event-queue.ts";
import { type AccordionArrivals, type AccordionQueries, queriesOf } from "./queries.ts";
import { RunningQueries } from "./running-queries.ts";
import { AccordionTally, type QueryOutcome } from "./tally.ts";
import { PlaceTimeline, type PlaceTimelineSteps } from "./timeline.ts";

export interface AccordionSimulationOptions {
  readonly arrivals: AccordionArrivals;
  /**
   * Queries of a process come from time 0 until this time, exclusive; the simulation goes on until
   * all of them are over.
   */
  readonly durationMs: number;
  readonly seed: number;
  /** Steps of the timeline, above 0; left out: there is none. */
  readonly timelineStepMs?: number;
  /** Whether the result has the latency of every query. */
  readonly withLatencies?: boolean;
  /** In place of the bundle's own: one that is watched, say. */
  readonly schedulerOf?: (
    bundle: AccordionBundle,
    options: AccordionSchedulerOptions,
  ) => AccordionScheduler;
}

export interface AccordionSimulationResult extends QueryOutcome {
  readonly seed: number;
  readonly durationMs: number;
  /** Time 0 to the end of the last query. */
  readonly makespanMs: number;
  /** Queries served over the makespan; 0 without queries. */
  readonly throughputQps: number;
  /** Mean over the makespan of the share of the places that queries have. */
  readonly occupancy: number;
  /** Queries that run at a time: mean over the makespan. */
  readonly activeQueries: { readonly mean: number; readonly max: number };
  /** Running queries that went on with other places; of them, with fewer and with more. */
  readonly reconfigurations: number;
  readonly shrinks: number;
  readonly grows: number;
  /** Instances that were in the pipeline when its query got other places, and began again. */
  readonly instancesRedone: number;
  readonly timeline: PlaceTimelineSteps | null;
  /**
   * Latencies are in the order of the arrivals, NaN for a query that was dropped; null unless asked
   * for.
   */
  readonly latencyMsByQuery: Float64Array | null;
}

/** Queries that wait or run at most; one that finds no room is dropped. */
const QUERY_CAPACITY = 2 ** 20;

/**
 * Serves simulated queries with the table of a bundle, on a virtual clock, with the scheduler that
 * serves real ones.
 *
 * All places are up at time 0. The k-th instance of a run is done when the table says; a query that
 * gets other places goes on `reconfigurationMs` later. Of what happens at one time, instances that
 * are done come first, since the places they free serve who comes then; then arrivals, then what
 * the scheduler woke for. Same bundle, options and seed give the same result. Source: Accordion §3,
 * §4.
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

/**
 * The virtual cluster. A query is named by its slot, which is free again once the query is over.
 */
class PlaceSimulation {
  readonly #queries: AccordionQueries;
  readonly #scheduler: AccordionScheduler;
  readonly #commands = new AccordionCommands();
  /** The next instance of every query that runs. */
  readonly #instances: EventQueue;
  readonly #running: RunningQueries;
  readonly #tally: AccordionTally;
  readonly #timeline: PlaceTimeline;
  readonly #latencyMs: Float64Array | null;
  /** [slotCount] index of the query, and a stack of the slots without one. */
  readonly #queryBySlot: Uint32Array;
  readonly #freeSlots: Uint32Array;
  #freeCount: number;
  #nextQuery = 0;
  #overCount = 0;
  #makespanMs = 0;
  /** Handed in anew with every query: nothing is allocated for one. */
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
    const named = { queryCapacity: slotCount };
    this.#scheduler = schedulerOf?.(bundle, named) ?? new AccordionScheduler(bundle, named);
    this.#instances = new EventQueue(slotCount);
    this.#running = new RunningQueries(bundle, this.#scheduler.table, slotCount);
    this.#tally = new AccordionTally(queries, bundle.tasks[0]?.variants ?? []);
    this.#timeline = new PlaceTimeline(timelineStepMs);
    this.#latencyMs = options.withLatencies === true ? new Float64Array(count).fill(NaN) : null;
    this.#queryBySlot = new Uint32Array(slotCount);
    // The lowest is on top.
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
    assert(this.#scheduler.activeCount === 0, "no query runs that is over");
  }

  outcome(): Omit<AccordionSimulationResult, "seed" | "durationMs"> {
    const outcome = this.#tally.outcome();
    const { shrinks, grows, reconfigurations, instancesRedone } = this.#running;
    const timeline = this.#timeline;
    const makespanMs = this.#makespanMs;
    const over = (sum: number) => (makespanMs === 0 ? 0 : sum / makespanMs);
    return {
      ...outcome,
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

  /** The next thing that happens. */
  #step(): void {
    const scheduler = this.#scheduler;
    const arrivalMs = this.#queries.arrivalMs[this.#nextQuery] ?? Number.POSITIVE_INFINITY;
    const instanceMs = this.#instances.nextMs;
    const { wakeMs } = scheduler;
    const nowMs = Math.min(instanceMs, arrivalMs, wakeMs);
    assert(nowMs < Number.POSITIVE_INFINITY, "a query that waits is started some time");
    if (instanceMs === nowMs) this.#finishInstance(nowMs);
    else if (arrivalMs === nowMs) this.#arrive(nowMs);
    else {
      scheduler.onWake(nowMs, this.#commands);
      assert(scheduler.wakeMs > nowMs, "a wake is answered");
      this.#carryOut(nowMs);
    }
    const { busyPlaceCount, activeCount, waitingCount } = scheduler;
    this.#timeline.observe(nowMs, busyPlaceCount, activeCount, waitingCount);
  }

  #arrive(nowMs: number): void {
    const query = this.#nextQuery++;
    if (this.#freeCount === 0) {
      this.#over(query, Number.NaN, nowMs);
      return;
    }
    const slot = this.#freeSlots[--this.#freeCount] ?? 0;
    const { model, batch, isHigh, deadlineMs } = this.#queries;
    const ask = this.#ask;
    ask.model = model[query] ?? 0;
    ask.batch = batch[query] ?? 0;
    ask.isHigh = isHigh[query] === 1;
    ask.deadlineMs = deadlineMs[query] ?? Number.NaN;
    this.#queryBySlot[slot] = query;
    this.#running.admit(slot, ask.model, ask.batch);
    this.#scheduler.onQuery(slot, ask, nowMs, this.#commands);
    this.#carryOut(nowMs);
  }

  #finishInstance(nowMs: number): void {
    const slot = this.#instances.pop();
    const nextMs = this.#running.finishInstance(slot);
    if (nextMs < Number.POSITIVE_INFINITY) this.#instances.push(nextMs, slot);
    this.#scheduler.onInstanceDone(slot, nowMs, this.#commands);
    this.#carryOut(nowMs);
    if (nextMs === Number.POSITIVE_INFINITY) this.#release(slot, nowMs, nowMs);
  }

  #carryOut(nowMs: number): void {
    const commands = this.#commands;
    for (let command = 0; command < commands.count; command++) {
      const kind = commands.kind(command);
      const slot = commands.query(command);
      if (kind === DROP) {
        this.#release(slot, Number.NaN, nowMs);
        continue;
      }
      assert(kind === START || kind === RESHAPE, "a command is of a known kind");
      const shape = commands.shape(command);
      const resumeAt = commands.resumeAt(command);
      if (kind === RESHAPE) this.#instances.cancel(slot);
      const nextMs =
        kind === START
          ? this.#running.start(slot, shape, resumeAt, nowMs)
          : this.#running.reshape(slot, shape, resumeAt, nowMs);
      this.#instances.push(nextMs, slot);
    }
    commands.clear();
  }

  #release(slot: number, endMs: number, nowMs: number): void {
    this.#freeSlots[this.#freeCount++] = slot;
    this.#over(this.#queryBySlot[slot] ?? 0, endMs, nowMs);
  }

  #over(query: number, endMs: number, nowMs: number): void {
    this.#overCount++;
    this.#makespanMs = nowMs;
    this.#tally.countOver(query, endMs);
    if (this.#latencyMs !== null) {
      this.#latencyMs[query] = endMs - (this.#queries.arrivalMs[query] ?? Number.NaN);
    }
  }
}
