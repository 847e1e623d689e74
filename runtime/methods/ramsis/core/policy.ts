/** Decides what to run in a state, by the measured load. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import {
  DEFAULT_LEVEL_CHOICE,
  type LevelChoiceOptions,
  LevelSets,
  POOLED_LEVEL_CHOICE,
} from "../../../core/level-choice.ts";
import { LoadMonitor } from "../../../core/load-monitor.ts";
import { type LoadShare, type SeenLoad, SharedLoad, seenIn } from "../../../core/load-share.ts";
import { type PaceMonitor, PaceReference, type ReferenceMode } from "../../../core/pace.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";
import { mixtureCoin, SLACK_ROUNDING_MS } from "../../../core/table-lookup.ts";
import { isNamed } from "../../../core/wanted-variant.ts";
import { NamedBatches } from "./named-batches.ts";
import { workerCountOf } from "./workers.ts";

/**
 * Decides what to run in a state at the measured load, by the tables of a bundle, the choice of a
 * level, and the coin of mixtures.
 */
export class Policy {
  readonly queueCapacity: number;
  /** Numbers variants and batch sizes as `PaceMonitor` does. */
  readonly cells: PaceReference;
  /** Index of the level that decided last. */
  level = 0;
  /** For queries that ask for one variant. */
  named: NamedBatches;
  /**
   * Ratio of the workers that serve the queue in the table to those that serve it here: queries
   * left by a batch wait as long for a share of the workers as this many times as many for all of
   * them.
   */
  workersEach = 1;
  #drops: boolean;
  /** A query that is not named is given up when it has less slack. */
  /** Time for one query if late ones are dropped, otherwise for the longest batch. */
  #neededMs: number;
  #lateMs: number;
  #table: PolicyTable;
  #rescueByQueued: Uint16Array;
  #levelSets: LevelSets;
  readonly #levelOptions: LevelChoiceOptions;
  readonly #monitor: LoadMonitor;
  /** Load of all front ends; null while this is the only one. */
  #shared: SharedLoad | null = null;
  readonly #workerCount: number;
  readonly #beatMs: number;
  readonly #isPooled: boolean;
  readonly #coin = mixtureCoin();
  #side: 0 | 1 = 0;
  /** Queue length of the last lookup, and the divisor of its slack. */
  #seen = 0;
  #slackPace = 1;

  /** @throws Error if the bundle contradicts itself. */
  static fromBundle(bundle: RamsisBundle): Policy {
    return new Policy(bundle, PolicyTable.fromBundle(bundle));
  }

  private constructor(bundle: RamsisBundle, table: PolicyTable) {
    const isPooled = bundle.policy.balancer === "pooled";
    this.#levelOptions = isPooled ? POOLED_LEVEL_CHOICE : DEFAULT_LEVEL_CHOICE;
    this.#isPooled = isPooled;
    this.#workerCount = workerCountOf(bundle);
    this.#beatMs = beatMsOf(bundle.slo);
    this.#monitor = new LoadMonitor(this.#beatMs);
    this.queueCapacity = table.queueCapacity;
    this.cells = referenceOf(bundle, "measured");
    this.#table = table;
    this.#levelSets = levelSetsOf(bundle, this.#levelOptions);
    this.#rescueByQueued = rescuesOf(bundle);
    this.named = new NamedBatches(bundle);
    this.#drops = bundle.policy.drop;
    this.#neededMs = neededMs(bundle);
    this.#lateMs = bundle.policy.lateMs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Follows other levels from now on; the load measured so far stays known.
   * @param bundle with the same decision space.
   */
  replaceBundle(bundle: RamsisBundle): void {
    const table = PolicyTable.fromBundle(bundle);
    if (table.queueCapacity !== this.queueCapacity) throw new RangeError("queues keep their size");
    this.#table = table;
    this.#levelSets = levelSetsOf(bundle, this.#levelOptions);
    this.#rescueByQueued = rescuesOf(bundle);
    this.named = new NamedBatches(bundle);
    this.#drops = bundle.policy.drop;
    this.#neededMs = neededMs(bundle);
    this.#lateMs = bundle.policy.lateMs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the slack below which a query is given up: the time for one query of the fastest
   * variant that may answer it or, if late queries are answered, the slack with which the longest
   * batch just ends within the bound; minus infinity without a bound.
   * @param pace of the worker that would run it.
   */
  leastSlackMs(wanted: number, pace: number): number {
    if (!this.#drops) return Math.min(0, this.#neededMs * pace - this.#lateMs);
    return pace * (isNamed(wanted) ? this.named.leastMs(wanted) : this.#neededMs);
  }

  /** @param queries that arrived at once. */
  recordArrival(nowMs: number, queries = 1): void {
    this.#monitor.recordArrival(nowMs, queries);
  }

  /** Measured load, queries per second; NaN until known. */
  loadQps(nowMs: number): number {
    return this.#monitor.loadQps(nowMs);
  }

  /** Updates what the other front ends report, and how the workers are shared. */
  follow(share: LoadShare): void {
    this.#shared ??= new SharedLoad(this.#workerCount, this.#beatMs);
    this.#shared.follow(share);
    if (this.#isPooled) this.workersEach = Math.max(1, this.#shared.workersEach);
  }

  /** Load as measured here, without that of other front ends. */
  seenLoad(nowMs: number): SeenLoad {
    this.#monitor.look(nowMs);
    return seenIn(this.#monitor.window);
  }

  /**
   * @param queued at least one.
   * @param slackMs until the earliest deadline.
   * @param pace of the worker that would run the batch. @param pool whose capacity is left.
   * @returns index of an action, WAIT or GIVE_UP.
   */
  decide(queued: number, slackMs: number, nowMs: number, pace: number, pool: PaceMonitor): number {
    const monitor = this.#monitor;
    monitor.look(nowMs);
    const sets = this.#levelSets;
    const load = this.#shared?.of(monitor) ?? monitor;
    this.level = sets.update(load, nowMs, pool.medianPace, pool.stretch);
    const share = this.#table.mixtureShare(this.level);
    // Draws no random number without a choice: it would only take time.
    this.#side = share > 0 && this.#coin.nextFloat() < share ? 1 : 0;
    this.#seen = queued;
    this.#slackPace = pace / sets.pace;
    const action = this.#inTime(this.#lookup(queued, slackMs), queued, slackMs, pool);
    if (this.workersEach === 1 || action === WAIT || action === GIVE_UP) return action;
    const left = queued - this.#table.batch(action);
    if (left <= 0) return action;
    // Workers share the remaining queries, so the decision is made as for a queue longer by as
    // much.
    this.#seen = queued + Math.round(left * (this.workersEach - 1));
    return this.#lookup(this.#seen, slackMs);
  }

  /**
   * The action, or one with less slack where its variant and batch size take longer than profiled.
   */
  #inTime(action: number, queued: number, slackMs: number, pool: PaceMonitor): number {
    let chosen = action;
    for (let tries = 0; tries < MOST_CORRECTIONS; tries++) {
      if (chosen === WAIT || chosen === GIVE_UP) return chosen;
      const { cells } = this;
      const cell = cells.cellOf(this.#table.variant(chosen), this.#table.batch(chosen));
      const correction = pool.correctionOf(cell);
      if (correction <= 1) return chosen;
      const corrected = this.#lookup(queued, slackMs / correction);
      if (corrected === chosen || corrected === WAIT) return chosen;
      chosen = corrected;
    }
    return chosen;
  }

  /**
   * Returns how long the slack may fall, after `decide` returned WAIT, until the decision changes,
   * all else being equal. Above 0.
   */
  waitMs(slackMs: number): number {
    const pace = this.#slackPace;
    const roundedMs = slackMs / pace + SLACK_ROUNDING_MS;
    const untilMs = this.#table.waitUntilSlackMs(this.level, this.#seen, roundedMs, this.#side);
    return (roundedMs - untilMs) * pace + SLACK_ROUNDING_MS;
  }

  #lookup(queued: number, slackMs: number): number {
    const scaledMs = slackMs / this.#slackPace + SLACK_ROUNDING_MS;
    return this.#table.lookup(this.level, queued, scaledMs, this.#side);
  }

  /**
   * Returns the action for queries that are late already: the one that clears the most of them per
   * time, among those that end within the time left.
   * @param queued at least one. @returns GIVE_UP if no batch ends within the time left.
   */
  rescue(queued: number, leftMs: number): number {
    const rescues = this.#rescueByQueued;
    for (let count = Math.min(queued, rescues.length); count > 0; count--) {
      const action = rescues[count - 1]!;
      if (this.named.serviceMs(this.variant(action), this.batch(action)) <= leftMs) return action;
    }
    return GIVE_UP;
  }

  variant(action: number): number {
    return this.#table.variant(action);
  }

  batch(action: number): number {
    return this.#table.batch(action);
  }
}

export { GIVE_UP, WAIT };

/**
 * Maximum number of lookups with less slack after one whose batch would take longer than profiled.
 */
const MOST_CORRECTIONS = 3;

/** Returns the expected batch times of the bundle's task. */
export function referenceOf(bundle: RamsisBundle, mode: ReferenceMode): PaceReference {
  return new PaceReference(bundle.tasks[0]!.serviceTimes, bundle.cluster, mode);
}

function levelSetsOf(
  { levels, paceLevels = [], slo }: RamsisBundle,
  options: LevelChoiceOptions,
): LevelSets {
  return new LevelSets(levels, paceLevels, options, beatMsOf(slo));
}

/** Loads that a machine as profiled would carry with each level and then each pace level. */
export function carriedLoads({ levels, paceLevels = [] }: RamsisBundle): Float64Array {
  const paced = paceLevels.map(({ loadQps, pace }) => loadQps * pace);
  return Float64Array.of(...levels.map(({ loadQps }) => loadQps), ...paced);
}

/** Paces that each level and then each pace level was solved for. */
export function levelPaces({ levels, paceLevels = [] }: RamsisBundle): Float64Array {
  return Float64Array.of(...levels.map(() => 1), ...paceLevels.map(({ pace }) => pace));
}

/**
 * Returns the time of the fastest variant for one query, in the bucket that is served fastest; with
 * less time no query can be served.
 */
export function fastestServiceMs({ tasks, buckets }: RamsisBundle): number {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (const { serviceTimes } of buckets ?? tasks) {
    const [variantCount, maxBatch] = serviceTimes.decisionMs.shape as [number, number];
    for (let variant = 0; variant < variantCount; variant++) {
      fastestMs = Math.min(fastestMs, serviceTimes.decisionMs.data[variant * maxBatch]!);
    }
  }
  return fastestMs;
}

/** Returns the least time per query of all batches that the policy may start, ms. */
export function quickestQueryMs({ tasks, decisionSpace }: RamsisBundle): number {
  const { decisionMs } = tasks[0]!.serviceTimes;
  const maxBatch = decisionMs.shape[1]!;
  const actions = decisionSpace.actions.data;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let action = 0; action < actions.length; action += 2) {
    const batch = actions[action + 1]!;
    leastMs = Math.min(leastMs, decisionMs.data[actions[action]! * maxBatch + batch - 1]! / batch);
  }
  return leastMs;
}

function neededMs(bundle: RamsisBundle): number {
  if (bundle.policy.drop) return fastestServiceMs(bundle);
  return decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
}

/**
 * Finds, for each number of queries up to the largest batch, the batch of the highest rate that
 * does not make a query late by itself.
 */
export function rescuesOf({ slo, cluster, tasks, decisionSpace }: RamsisBundle): Uint16Array {
  const sloMs = decisionSloMs(cluster, slo.latencyMs);
  const { decisionMs } = tasks[0]!.serviceTimes;
  const maxBatch = decisionMs.shape[1]!;
  const actions = decisionSpace.actions.data;
  const rescues = new Uint16Array(maxBatch);
  let best = 0;
  let bestRate = 0;
  for (let queued = 1; queued <= maxBatch; queued++) {
    for (let action = 0; 2 * action < actions.length; action++) {
      if (actions[2 * action + 1] !== queued) continue;
      const ms = decisionMs.data[actions[2 * action]! * maxBatch + queued - 1]!;
      if ((ms > sloMs && queued > 1) || queued / ms <= bestRate) continue;
      best = action;
      bestRate = queued / ms;
    }
    rescues[queued - 1] = best;
  }
  return rescues;
}
