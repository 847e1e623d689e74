/** Scales the pipeline as a unit: the tuner that InferLine is compared with. */
import type { InferlineBundle, StagePlan } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import {
  RATE_WINDOW,
  RecentRates,
} from "stratagem-runtime/internal/methods/inferline/core/recent-rates";
import type { ReplicaTuner } from "stratagem-runtime/internal/methods/inferline/core/replica-tuner";

/** Heartbeats without need after which a unit is removed: t_wait of AutoScale, 120 s. */
const WAIT = 120;
const WAIT_WINDOWS = WAIT / RATE_WINDOW;
const ROUNDING = 1e-9;

/**
 * The coarse-grained tuner that InferLine is compared with: the pipeline is scaled as a unit, a
 * replica of every task more or less, by the observed load. Source: Gandhi et al., "AutoScale", ACM
 * TOCS 30(4), 2012, as InferLine §6 and §7.1 use it.
 *
 * Fixed here: the rate is measured over consecutive windows of five heartbeats. When the rate of
 * the last one exceeds the capacity of all units with full batches, as many as carry it are added
 * at once. Units that no window of the last 120 heartbeats needed are removed; none is removed
 * before that. AutoScale's routing that packs requests on few servers has no counterpart with a
 * central queue, nor is the number of requests in the system used.
 */
export class CoarseTuner implements ReplicaTuner {
  readonly targets: Uint32Array;
  readonly #bundle: InferlineBundle;
  readonly #rates: RecentRates;
  readonly #windowMs: number;
  #stages: readonly StagePlan[] = [];
  /** Units beyond the plan, negative if there are fewer. */
  #extra = 0;
  /** Ring of the needs of the last windows, as `#extra`. */
  readonly #needed = new Float64Array(WAIT_WINDOWS);
  #windowCount = 0;
  #requests = 0;

  constructor(bundle: InferlineBundle, level: number) {
    const beatMs = beatMsOf(bundle.slo);
    this.#bundle = bundle;
    this.#rates = new RecentRates(beatMs);
    this.#windowMs = RATE_WINDOW * beatMs;
    this.targets = new Uint32Array(bundle.tasks.length);
    this.#startFrom(level);
  }

  get recentMeanQps(): number {
    return this.#rates.recentMeanQps;
  }

  get wakeMs(): number {
    return this.#rates.windowEndMs;
  }

  onArrival(nowMs: number): boolean {
    const isChanged = this.#closeWindows(nowMs);
    this.#rates.recordRequest(nowMs);
    this.#requests++;
    return isChanged;
  }

  tick(nowMs: number): boolean {
    return this.#closeWindows(nowMs);
  }

  follow(level: number, nowMs: number): void {
    this.#closeWindows(nowMs);
    this.#startFrom(level);
  }

  #startFrom(level: number): void {
    this.#stages = this.#bundle.levels[level]?.plan.stages ?? [];
    this.#extra = 0;
    this.#windowCount = 0;
    this.#setTargets();
  }

  /** @returns whether a target has changed. */
  #closeWindows(nowMs: number): boolean {
    let isChanged = false;
    while (nowMs >= this.#rates.windowEndMs) {
      const endMs = this.#rates.windowEndMs;
      this.#rates.advance(endMs);
      isChanged = this.#scale((1000 * this.#requests) / this.#windowMs) || isChanged;
      this.#requests = 0;
    }
    return isChanged;
  }

  #scale(qps: number): boolean {
    const needed = this.#unitsFor(qps);
    this.#needed[this.#windowCount % WAIT_WINDOWS] = needed;
    this.#windowCount++;
    const before = this.#extra;
    if (needed > before) this.#extra = needed;
    else if (this.#windowCount >= WAIT_WINDOWS) {
      this.#extra = Math.min(before, Math.max(...this.#needed));
    }
    return this.#extra !== before && this.#setTargets();
  }

  /** Units beyond the plan, or fewer, so that every task carries a rate. */
  #unitsFor(qps: number): number {
    const least = 1 - Math.max(...this.#stages.map(({ replicas }) => replicas));
    const perStage = this.#stages.map(({ scaleFactor, throughputQps, replicas }) => {
      const needed = Math.ceil((qps * scaleFactor * (1 - ROUNDING)) / throughputQps);
      // A task keeps one replica however few units there are.
      return needed > 1 ? needed - replicas : least;
    });
    return Math.max(least, ...perStage);
  }

  #setTargets(): boolean {
    let isChanged = false;
    for (const [task, { replicas, pool }] of this.#stages.entries()) {
      const workers = this.#bundle.cluster.pools[pool]?.workers ?? 0;
      const target = Math.min(Math.max(1, replicas + this.#extra), Math.max(workers, 1));
      isChanged ||= target !== this.targets[task];
      this.targets[task] = target;
    }
    return isChanged;
  }
}
