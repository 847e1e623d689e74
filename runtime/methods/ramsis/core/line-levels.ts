/** Lines of several classes, or buckets, and the level that decides for them. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { LevelChoice, POOLED_LEVEL_CHOICE } from "../../../core/level-choice.ts";
import { LoadMonitor } from "../../../core/load-monitor.ts";
import { type LoadShare, type SeenLoad, SharedLoad, seenIn } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { bucketWeights } from "./bucket-weights.ts";
import { ClassLoads } from "./class-loads.ts";
import { type ClassPlan, classPlans, type Line } from "./class-plans.ts";
import { carriedLoads, levelPaces } from "./policy.ts";

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
  /** Of their work, by which levels are chosen; the same where queries are alike. */
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

  /** Pace that the tables of the level were solved for; the policies of lines divide by none. */
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

  /** @param queries that came at once. */
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
