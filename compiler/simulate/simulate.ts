import { withoutClasses } from "../../runtime/bundle/class-views.ts";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { assert } from "../../runtime/core/assert.ts";
import { CommandBuffer, DROP } from "../../runtime/core/command-buffer.ts";
import type { Dispatcher } from "../../runtime/core/dispatcher.ts";
import { dispatcherOf } from "../../runtime/core/dispatcher-of.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { ArrivalFeed } from "./arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "./arrivals.ts";
import { type Baseline, baselineBundle } from "./baselines/baseline.ts";
import type { ResponseLatencyProfiler } from "./baselines/model-switching.ts";
import { type ClassOutcome, ClassTally } from "./class-tally.ts";
import { EventQueue } from "./event-queue.ts";
import { CLASS_STREAM, QueryClasses } from "./query-classes.ts";
import { type ServiceTimeMode, type ServiceTimeModel, serviceTimeModel } from "./service-times.ts";
import { type Outcome, Tally } from "./tally.ts";

export interface SimulationOptions {
  readonly arrivals: ArrivalProcess;
  /** Queries arrive from time 0 until this time, exclusive; what waits then is still served and counted. */
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  /** Null simulates the policy of the bundle; otherwise what it has to beat. */
  readonly baseline: Baseline | null;
}

export interface SimulationResult extends Outcome {
  readonly seed: number;
  readonly durationMs: number;
  /** By the names of the classes, where the bundle has any. */
  readonly byClass?: Readonly<Record<string, ClassOutcome>>;
}

/** Random streams of one seed: a policy never changes which arrivals it is compared on. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;

/** Profiles that a baseline needs are measured over this time each, and with this seed, so that they do not depend on what is simulated. */
const PROFILE_DURATION_MS = 60_000;
const PROFILE_SEED = 0x70726f66;

/**
 * Serves simulated arrivals with the decisions of a bundle, on a virtual clock.
 *
 * The dispatcher is the one that serves real queries; here a started batch becomes a completion in the future. At equal times arrivals come
 * before completions. Same bundle, options and seed give the same result.
 * @throws InputError if the baseline names no variant, or service times are to be sampled and the bundle holds no quantiles.
 */
export function simulate(bundle: RamsisBundle, options: SimulationOptions): SimulationResult {
  const { baseline, durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const simulated =
    baseline === null
      ? bundle
      : baselineBundle(
          ofShortestSlo(bundle),
          baseline,
          responseLatencyProfiler(options.serviceTimes),
        );
  const classes = new QueryClasses(bundle.slo, new Rng(seed, CLASS_STREAM));
  const simulation = new Simulation(simulated, classes, options);
  simulation.run();
  return { seed, durationMs, ...simulation.outcome() };
}

/** What a baseline knows of a bundle with classes: one queue, and the SLO that it has to keep for every query to be in time. */
function ofShortestSlo(bundle: RamsisBundle): RamsisBundle {
  const { classes } = bundle.slo;
  if (classes === undefined) return bundle;
  const alone = withoutClasses(bundle);
  const latencyMs = Math.min(...classes.map((sloClass) => sloClass.latencyMs));
  return { ...alone, slo: { ...alone.slo, latencyMs } };
}

/** Measures on the simulated cluster itself, under arrivals as its bundle was compiled for, Poisson where these are a trace. */
function responseLatencyProfiler(serviceTimes: ServiceTimeMode): ResponseLatencyProfiler {
  return (cluster, loadQps) => {
    const { arrivals } = cluster;
    const { dropped, latencyMs } = simulate(cluster, {
      arrivals:
        arrivals.process === "gamma"
          ? { kind: "gamma", qps: loadQps, cv2: arrivals.cv2 }
          : { kind: "poisson", qps: loadQps },
      durationMs: PROFILE_DURATION_MS,
      seed: PROFILE_SEED,
      serviceTimes,
      baseline: null,
    });
    return dropped > 0 ? Number.POSITIVE_INFINITY : (latencyMs?.p99 ?? 0);
  };
}

/** The virtual cluster: waiting queries, batches being run, and the count of what became of them. */
class Simulation {
  readonly #dispatcher: Dispatcher;
  readonly #commands: CommandBuffer;
  readonly #completions: EventQueue;
  readonly #feed: ArrivalFeed;
  readonly #serviceTimes: ServiceTimeModel;
  readonly #tally: Tally;
  readonly #classes: QueryClasses;
  /** One for each class, none where all queries have the same SLO. */
  readonly #classTallies: readonly ClassTally[];
  /** A waiting query is a slot of these arrays; the free ones are the first `#freeCount` entries of `#freeSlot`. */
  readonly #arrivalMsBySlot: Float64Array;
  readonly #classBySlot: Uint8Array;
  readonly #freeSlot: Uint32Array;
  #freeCount: number;

  constructor(bundle: RamsisBundle, classes: QueryClasses, options: SimulationOptions) {
    const task = bundle.tasks[0];
    assert(task !== undefined, "a bundle has a task");
    const dispatcher = dispatcherOf(bundle);
    this.#dispatcher = dispatcher;
    this.#commands = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    this.#completions = new EventQueue(dispatcher.workerCount);
    const source = arrivalSource(options.arrivals, new Rng(options.seed, ARRIVAL_STREAM));
    this.#feed = new ArrivalFeed(source, options.durationMs);
    const serviceRng = new Rng(options.seed, SERVICE_STREAM);
    this.#serviceTimes = serviceTimeModel(task.serviceTimes, options.serviceTimes, serviceRng);
    this.#tally = new Tally(task.variants, bundle.levels);
    this.#classes = classes;
    this.#classTallies = classes.isOne
      ? []
      : classes.names.map(() => new ClassTally(task.variants));
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

  outcome(): Outcome & Pick<SimulationResult, "byClass"> {
    const outcome = this.#tally.outcome();
    const { names, isOne } = this.#classes;
    if (isOne) return outcome;
    const byClass = names.map((name, index) => [name, this.#classTallies[index]?.outcome()]);
    return { ...outcome, byClass: Object.fromEntries(byClass) };
  }

  #arrive(nowMs: number): void {
    const slot = this.#freeSlot[this.#freeCount - 1];
    assert(slot !== undefined, "a slot is free for every query that may wait");
    this.#freeCount--;
    const sloClass = this.#classes.next();
    this.#arrivalMsBySlot[slot] = nowMs;
    this.#classBySlot[slot] = sloClass;
    const deadlineMs = nowMs + this.#classes.sloMs(sloClass);
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
        this.#tally.countDrop();
        this.#classTallies[this.#classBySlot[slot] ?? 0]?.countDrop();
        this.#release(slot);
      } else {
        this.#runBatch(command, nowMs);
      }
    }
    commands.clear();
  }

  /** The finish of a batch is known when it starts, so its queries are counted then and their slots are free at once. */
  #runBatch(command: number, nowMs: number): void {
    const commands = this.#commands;
    const variant = commands.variant(command);
    const batch = commands.queryCount(command);
    const finishMs = nowMs + this.#serviceTimes.nextMs(variant, batch);
    assert(finishMs >= nowMs, "a service time is a number, not negative");
    this.#completions.push(finishMs, commands.worker(command));
    this.#tally.countBatch(variant, commands.level(command), batch);
    for (let position = 0; position < batch; position++) {
      const slot = commands.query(command, position);
      const arrivalMs = this.#arrivalMsBySlot[slot] ?? Number.NaN;
      const sloClass = this.#classBySlot[slot] ?? 0;
      // The deadline is the dispatcher's own sum; finish − arrival <= SLO would round differently.
      const satisfied = finishMs <= arrivalMs + this.#classes.sloMs(sloClass);
      if (position === 0 && satisfied) this.#tally.countTimelyBatch(variant);
      this.#tally.countServed(variant, finishMs - arrivalMs, satisfied);
      this.#classTallies[sloClass]?.countServed(variant, finishMs - arrivalMs, satisfied);
      this.#release(slot);
    }
  }

  #release(slot: number): void {
    this.#freeSlot[this.#freeCount++] = slot;
  }
}
