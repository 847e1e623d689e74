/**
 * Lines of several classes, or buckets: their layout in each level, their loads, and the level that
 * decides.
 */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import {
  LevelChoice,
  type LevelChoiceOptions,
  POOLED_LEVEL_CHOICE,
} from "../../../core/level-choice.ts";
import { LoadMonitor } from "../../../core/load-monitor.ts";
import { type LoadShare, type SeenLoad, SharedLoad, seenIn } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { kindBundle, withoutKinds, withPaceLevels } from "../bundle/kind-views.ts";
import type { ClassSpan } from "./line-queues.ts";
import { carriedLoads, levelPaces, Policy } from "./policy.ts";

/** Queue shared by all classes, or that of one class. */
export interface Line extends ClassSpan {
  /** Maximum number of waiting queries; further ones are dropped. */
  readonly capacity: number;
  /** Workers that may run its batches at a time. */
  readonly workers: number;
  readonly policy: Policy;
}

/** Lines of a level: which classes wait together. */
export interface ClassPlan {
  /** One line for all, or for each bucket. */
  readonly together: readonly Line[];
  /** A line for each class; null if the level has none. */
  readonly apart: readonly Line[] | null;
}

/**
 * One plan for each level of a bundle with classes, or buckets, which never wait together.
 * @param workers of the cluster. @throws Error if the bundle contradicts itself.
 */
export function classPlans(paced: RamsisBundle, workers: number): readonly ClassPlan[] {
  const bundle = withPaceLevels(paced);
  const { slo, buckets } = bundle;
  const kinds = slo.classes ?? buckets ?? [];
  const shared = withoutKinds(bundle);
  return bundle.levels.map((level, index) => {
    const hasOwn = level.classTables !== undefined || level.bucketTables !== undefined;
    const apart = (hasOwn ? kinds : []).map((_, kind) => {
      const own = level.classTables?.[kind]?.workers ?? workers;
      return lineOf(kindBundle(bundle, level, kind), kind, kind + 1, own);
    });
    if (buckets !== undefined) return { together: apart, apart: null };
    const alone = { ...shared, levels: shared.levels.slice(index, index + 1) };
    const together = [lineOf(alone, 0, kinds.length, workers)];
    return { together, apart: hasOwn ? apart : null };
  });
}

/** @param bundle whose policy decides, by its only level if the line belongs to a plan. */
export function lineOf(bundle: RamsisBundle, first: number, end: number, workers: number): Line {
  const policy = Policy.fromBundle(bundle);
  return { first, end, capacity: policy.queueCapacity, workers, policy };
}

/**
 * The first measurement is of the shortest window, and to call a class too large on its account
 * would last until a dip as large.
 */
const CLASS_LEVEL_CHOICE: LevelChoiceOptions = { ...POOLED_LEVEL_CHOICE, startSigmas: 3 };

/**
 * Checks whether the classes have the loads that their tables were made for: their shares of a
 * level's load.
 *
 * The load of each class is measured like the total, and a level is chosen for it among its shares
 * of the levels, with the same allowance for noise. Where a class calls for a higher level than the
 * total load does, the shares are not those of the bundle. A class without measurements counts as
 * idle.
 */
export class ClassLoads {
  readonly #monitors: readonly LoadMonitor[];
  readonly #shared: readonly SharedLoad[];
  #choices: readonly LevelChoice[];

  /** @param workers of the cluster that the bundle is for. */
  constructor(bundle: RamsisBundle, workers: number) {
    const classes = bundle.slo.classes ?? [];
    const beatMs = beatMsOf(bundle.slo);
    this.#monitors = classes.map(() => new LoadMonitor(beatMs));
    this.#shared = classes.map(() => new SharedLoad(workers, beatMs));
    this.#choices = choicesOf(bundle);
  }

  /**
   * Follows other levels from now on; the loads measured so far stay known. @param bundle with the
   * same classes.
   */
  replaceBundle(bundle: RamsisBundle): void {
    this.#choices = choicesOf(bundle);
  }

  /** Other front ends do not report per class: their loads are assumed to equal the local ones. */
  follow(share: LoadShare): void {
    for (const shared of this.#shared) shared.follow({ ...share, othersQps: null });
  }

  /** @param queries that arrived at once. */
  recordArrival(sloClass: number, nowMs: number, queries: number): void {
    this.#monitors[sloClass]?.recordArrival(nowMs, queries);
  }

  /**
   * Takes measurements and checks whether a class exceeds its share of a level.
   * @param level index of the level for the load of all.
   * @param stretch as levels are chosen with.
   */
  exceed(level: number, nowMs: number, stretch: number): boolean {
    let isMore = false;
    for (let sloClass = 0; sloClass < this.#monitors.length; sloClass++) {
      const monitor = this.#monitors[sloClass]!;
      monitor.look(nowMs);
      const load = this.#shared[sloClass]!.of(monitor);
      if (this.#choices[sloClass]!.update(load, nowMs, stretch) > level) isMore = true;
    }
    return isMore;
  }
}

/**
 * Makes a choice per class among its shares of the levels' loads, and a last one for higher loads.
 */
function choicesOf(bundle: RamsisBundle): readonly LevelChoice[] {
  const carried = carriedLoads(bundle);
  return (bundle.slo.classes ?? []).map(({ share }) => {
    const upwards = Float64Array.of(...carried.map((qps) => share * qps), Number.POSITIVE_INFINITY);
    return new LevelChoice(upwards, CLASS_LEVEL_CHOICE);
  });
}

/**
 * Returns the weight of a query of each bucket, in queries of the mix that the levels are for: by
 * the least time of a worker that it takes in a batch which ends within the SLO. So more requests
 * of a large bucket than its share call for a higher level, and fewer for a lower one.
 * @returns shape (bucketCount,), 1 in the mean over the shares; null without buckets.
 */
export function bucketWeights(bundle: RamsisBundle): Float64Array | null {
  const { buckets, slo, cluster, decisionSpace } = bundle;
  if (buckets === undefined) return null;
  const sloMs = decisionSloMs(cluster, slo.latencyMs);
  const actions = decisionSpace.actions.data;
  const costs = buckets.map(({ serviceTimes: { decisionMs } }) => {
    const maxBatch = decisionMs.shape[1] ?? 0;
    let least = Number.POSITIVE_INFINITY;
    let leastOfOne = Number.POSITIVE_INFINITY;
    for (let action = 0; action < actions.length; action += 2) {
      const batch = actions[action + 1]!;
      const ms = decisionMs.data[actions[action]! * maxBatch + batch - 1]!;
      if (ms <= sloMs) least = Math.min(least, ms / batch);
      if (batch === 1) leastOfOne = Math.min(leastOfOne, ms);
    }
    return least < Number.POSITIVE_INFINITY ? least : leastOfOne;
  });
  const mean = buckets.reduce((sum, { share }, bucket) => sum + share * costs[bucket]!, 0);
  const weights = Float64Array.from(costs, (cost) => cost / mean);
  return weights.every((weight) => weight > 0 && weight < Number.POSITIVE_INFINITY)
    ? weights
    : weights.fill(1);
}

/**
 * Queries of several classes, or buckets. The level of the measured load says whether classes wait
 * together or apart; they wait together as long as a class brings more than its share.
 */
export class DividedLevels {
  /** Lines that are followed now. */
  lines: readonly Line[];
  /** Index of the level that decided last. */
  level = 0;
  readonly #workers: number;
  #plans: readonly ClassPlan[];
  #levelChoice: LevelChoice;
  #paceByLevel: Float64Array;
  /** Weight of a query of each bucket; null without buckets. */
  #weights: Float64Array | null;
  /** Counts all queries. */
  readonly #monitor: LoadMonitor;
  /** Counts their work, by which levels are chosen; the same as `#monitor` if queries are alike. */
  readonly #work: LoadMonitor;
  readonly #shared: SharedLoad;
  readonly #classLoads: ClassLoads;

  constructor(bundle: RamsisBundle, workers: number) {
    this.#workers = workers;
    this.#plans = classPlans(bundle, this.#workers);
    this.lines = this.#plans[0]!.together;
    this.#levelChoice = new LevelChoice(carriedLoads(bundle), POOLED_LEVEL_CHOICE);
    this.#paceByLevel = levelPaces(bundle);
    this.#weights = bucketWeights(bundle);
    const beatMs = beatMsOf(bundle.slo);
    this.#monitor = new LoadMonitor(beatMs);
    this.#work = this.#weights === null ? this.#monitor : new LoadMonitor(beatMs);
    this.#shared = new SharedLoad(workers, beatMs);
    this.#classLoads = new ClassLoads(bundle, workers);
  }

  /**
   * Pace that the tables of the level were solved for; the policies of lines do not divide by it.
   */
  get pace(): number {
    return this.#paceByLevel[this.level]!;
  }

  /** Takes measurements before decisions. */
  follow(nowMs: number, { stretch }: PaceMonitor): void {
    this.#work.look(nowMs);
    this.level = this.#levelChoice.update(this.#shared.of(this.#work), nowMs, stretch);
    const exceed = this.#classLoads.exceed(this.level, nowMs, stretch);
    const { together, apart } = this.#plans[this.level]!;
    this.lines = apart === null || exceed ? together : apart;
  }

  /** @param queries that arrived at once. */
  recordArrival(sloClass: number, nowMs: number, queries: number): void {
    this.#monitor.recordArrival(nowMs, queries);
    const weight = this.#weights?.[sloClass];
    if (weight !== undefined) this.#work.recordArrival(nowMs, queries * weight);
    this.#classLoads.recordArrival(sloClass, nowMs, queries);
  }

  /** @param bundle with the same classes, buckets and axes. */
  replaceBundle(bundle: RamsisBundle): void {
    this.#plans = classPlans(bundle, this.#workers);
    this.level = 0;
    this.lines = this.#plans[0]!.together;
    this.#levelChoice = new LevelChoice(carriedLoads(bundle), POOLED_LEVEL_CHOICE);
    this.#paceByLevel = levelPaces(bundle);
    this.#weights = bucketWeights(bundle);
    this.#classLoads.replaceBundle(bundle);
    this.#shareQueues();
  }

  onShare(share: LoadShare): void {
    this.#shared.follow(share);
    this.#classLoads.follow(share);
    this.#shareQueues();
  }

  seenLoad(nowMs: number): SeenLoad {
    this.#work.look(nowMs);
    return seenIn(this.#work.window);
  }

  loadQps(nowMs: number): number {
    return this.#monitor.loadQps(nowMs);
  }

  /** Sets the part of the workers that every line has. */
  #shareQueues(): void {
    const workersEach = Math.max(1, this.#shared.workersEach);
    for (const { together, apart } of this.#plans) {
      for (const { policy } of [...together, ...(apart ?? [])]) policy.workersEach = workersEach;
    }
  }
}
