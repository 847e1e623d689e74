/** The cluster on a virtual clock, whichever dispatcher decides. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { ArrivalFeed } from "../../../simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../../../simulate/arrivals.ts";
import { EventQueue } from "../../../simulate/event-queue.ts";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import type { QueryClasses } from "../../../simulate/query-classes.ts";
import {
  type ServiceTimeMode,
  type ServiceTimeModel,
  serviceTimeModel,
} from "../../../simulate/service-times.ts";
import { ClassTally, type OutcomeByClass } from "./class-tally.ts";
import type { SimulatedDispatcher } from "./peers/peer.ts";
import { Tally } from "./tally.ts";

export interface ClusterOptions {
  readonly arrivals: ArrivalProcess;
  /**
   * Queries arrive from time 0 until this time, exclusive; what waits then is still served and
   * counted.
   */
  readonly durationMs: number;
  readonly serviceTimes: ServiceTimeMode;
  readonly arrivalRng: Rng;
  readonly serviceRng: Rng;
  /** What SLO, or bucket, each query has; by default all have the SLO of the bundle. */
  readonly classes?: QueryClasses;
  /** Only these queries are counted, and batches by their first one; by default all of them. */
  readonly counted?: ArrivedBetween;
  /** Told of every query counted that is late or dropped. */
  readonly onViolation?: OnViolation;
  /** Told of every query counted. */
  readonly onOutcome?: OnOutcome;
}

export type OnViolation = (arrivalMs: number, sloClass: number) => void;

/** Queries that arrive from one time until another, exclusive. */
interface ArrivedBetween {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Serves simulated arrivals on the cluster of a bundle. At equal times arrivals come before
 * completions, and these before what waits for a time.
 * @param bundle says what is served: variants, service times, SLO and the levels that the outcome
 * counts.
 */
export function simulateCluster(
  bundle: RamsisBundle,
  dispatcher: SimulatedDispatcher,
  options: ClusterOptions,
): OutcomeByClass {
  const simulation = new Simulation(bundle, dispatcher, options);
  simulation.run();
  return simulation.outcome();
}

/**
 * The virtual cluster: waiting queries, batches being run, and the count of what became of them.
 */
class Simulation {
  readonly #dispatcher: SimulatedDispatcher;
  readonly #commands: CommandBuffer;
  readonly #completions: EventQueue;
  readonly #feed: ArrivalFeed;
  /** Of each bucket, or one for all. */
  readonly #serviceTimes: readonly ServiceTimeModel[];
  readonly #hasBuckets: boolean;
  readonly #tally: Tally;
  readonly #sloMs: number;
  readonly #classes: QueryClasses | null;
  /** One for each class, none where all queries have the same SLO. */
  readonly #classTallies: readonly ClassTally[];
  readonly #countedFromMs: number;
  readonly #countedUntilMs: number;
  readonly #onViolation: OnViolation | undefined;
  readonly #onOutcome: OnOutcome | undefined;
  /**
   * A waiting query is a slot of these arrays; the free ones are the first `#freeCount` entries of
   * `#freeSlot`.
   */
  readonly #arrivalMsBySlot: Float64Array;
  readonly #classBySlot: Uint8Array;
  readonly #freeSlot: Uint32Array;
  #freeCount: number;

  constructor(bundle: RamsisBundle, dispatcher: SimulatedDispatcher, options: ClusterOptions) {
    const task = bundle.tasks[0];
    assert(task !== undefined, "a bundle has a task");
    this.#dispatcher = dispatcher;
    this.#commands = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    this.#completions = new EventQueue(dispatcher.workerCount);
    const { arrivals, arrivalRng, durationMs } = options;
    this.#feed = new ArrivalFeed(arrivalSource(arrivals, arrivalRng), durationMs);
    const { serviceTimes, serviceRng } = options;
    const { buckets } = bundle;
    this.#hasBuckets = buckets !== undefined;
    this.#serviceTimes = (buckets ?? [task]).map((one) =>
      serviceTimeModel(one.serviceTimes, serviceTimes, serviceRng),
    );
    this.#tally = new Tally(task.variants, bundle.levels);
    this.#sloMs = bundle.slo.latencyMs;
    const { classes } = options;
    this.#classes = classes === undefined || classes.isOne ? null : classes;
    this.#classTallies = this.#classes?.names.map(() => new ClassTally(task.variants)) ?? [];
    this.#countedFromMs = options.counted?.fromMs ?? 0;
    this.#countedUntilMs = options.counted?.untilMs ?? Number.POSITIVE_INFINITY;
    this.#onViolation = options.onViolation;
    this.#onOutcome = options.onOutcome;
    // One more than can wait: the query at hand, which may be dropped.
    const slotCount = dispatcher.waitingCapacity + 1;
    this.#arrivalMsBySlot = new Float64Array(slotCount);
    this.#classBySlot = new Uint8Array(slotCount);
    this.#freeSlot = Uint32Array.from({ length: slotCount }, (_, slot) => slot);
    this.#freeCount = slotCount;
  }

  run(): void {
    const feed = this.#feed;
    const completions = this.#completions;
    const dispatcher = this.#dispatcher;
    for (;;) {
      const doneMs = completions.nextMs;
      const { wakeMs } = dispatcher;
      if (feed.nextMs <= doneMs && feed.nextMs <= wakeMs) {
        if (feed.nextMs === Number.POSITIVE_INFINITY) break;
        this.#arrive(feed.nextMs);
      } else if (doneMs <= wakeMs) this.#complete(doneMs);
      else this.#wake(wakeMs);
    }
    assert(this.#freeCount === this.#freeSlot.length, "every query was served or dropped");
  }

  outcome(): OutcomeByClass {
    const outcome = this.#tally.outcome();
    if (this.#classes === null) return outcome;
    const byClass = this.#classes.names.map((name, index) => [
      name,
      this.#classTallies[index]?.outcome(),
    ]);
    const byKind = Object.fromEntries(byClass);
    return this.#hasBuckets ? { ...outcome, byBucket: byKind } : { ...outcome, byClass: byKind };
  }

  #arrive(nowMs: number): void {
    const slot = this.#freeSlot[this.#freeCount - 1];
    assert(slot !== undefined, "a slot is free for every query that may wait");
    this.#freeCount--;
    const sloClass = this.#classes?.next() ?? 0;
    this.#arrivalMsBySlot[slot] = nowMs;
    this.#classBySlot[slot] = sloClass;
    const deadlineMs = nowMs + this.#sloOf(sloClass);
    this.#dispatcher.onArrival(slot, deadlineMs, nowMs, this.#commands, sloClass);
    this.#carryOut(nowMs);
    this.#feed.advance();
  }

  #complete(nowMs: number): void {
    this.#dispatcher.onBatchDone(this.#completions.pop(), nowMs, this.#commands);
    this.#carryOut(nowMs);
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
        const arrivalMs = this.#arrivalMsBySlot[slot] ?? Number.NaN;
        if (this.#isCounted(arrivalMs)) {
          const sloClass = this.#classBySlot[slot] ?? 0;
          this.#tally.countDrop();
          this.#classTallies[sloClass]?.countDrop();
          this.#onViolation?.(arrivalMs, sloClass);
          this.#onOutcome?.(arrivalMs, Number.NaN);
        }
        this.#release(slot);
      } else {
        this.#runBatch(command, nowMs);
      }
    }
    commands.clear();
  }

  /**
   * The finish of a batch is known when it starts, so its queries are counted then and their slots
   * are free at once.
   */
  #runBatch(command: number, nowMs: number): void {
    const commands = this.#commands;
    const variant = commands.variant(command);
    const batch = commands.queryCount(command);
    const first = commands.query(command, 0);
    const times = this.#serviceTimes[this.#hasBuckets ? (this.#classBySlot[first] ?? 0) : 0];
    const finishMs = nowMs + (times?.nextMs(variant, batch) ?? Number.NaN);
    assert(finishMs >= nowMs, "a service time is a number, not negative");
    this.#completions.push(finishMs, commands.worker(command));
    const firstMs = this.#arrivalMsBySlot[first] ?? Number.NaN;
    if (this.#isCounted(firstMs)) this.#tally.countBatch(variant, commands.level(command));
    for (let position = 0; position < batch; position++) {
      const slot = commands.query(command, position);
      const arrivalMs = this.#arrivalMsBySlot[slot] ?? Number.NaN;
      // The deadline is the dispatcher's own sum; finish − arrival <= SLO would round differently.
      const sloClass = this.#classBySlot[slot] ?? 0;
      const satisfied = finishMs <= arrivalMs + this.#sloOf(sloClass);
      if (this.#isCounted(arrivalMs)) {
        if (position === 0 && satisfied) this.#tally.countTimelyBatch(variant);
        this.#tally.countServed(variant, finishMs - arrivalMs, satisfied);
        this.#classTallies[sloClass]?.countServed(variant, finishMs - arrivalMs, satisfied);
        if (!satisfied) this.#onViolation?.(arrivalMs, sloClass);
        this.#onOutcome?.(arrivalMs, finishMs - arrivalMs);
      }
      this.#release(slot);
    }
  }

  #sloOf(sloClass: number): number {
    return this.#classes?.sloMs(sloClass) ?? this.#sloMs;
  }

  #isCounted(arrivalMs: number): boolean {
    return arrivalMs >= this.#countedFromMs && arrivalMs < this.#countedUntilMs;
  }

  #release(slot: number): void {
    this.#freeSlot[this.#freeCount++] = slot;
  }
}
