/** How slow workers are compared with the profile, and how much of their capacity is left. */

import type { Cluster, ServiceTimes, ServingPath } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { KNOT_COUNT, quantileKnots } from "./quantile-distribution.ts";
import { RATIO_GRID, RatioTracker, TailTracker, UNIT } from "./ratio-tracker.ts";

// Times are in beats.

/** After a rise the pace does not fall for this long, and then one step at a time. */
const HOLD = 0.5;
const STEP = 0.1;
/** A worker without a batch for this long is taken to be as fast as its pool. */
const IDLE = 2;
/** A worker that is slower than the median of its pool by more than this factor is a straggler. */
const STRAGGLER = 1.5;
/** Consecutive slow runs that show a slower pool: one more for each this many workers. */
const WORKERS_PER_RUN = 8;
const MOST_JUMP_RUNS = 12;
/** A worker that is slower than most for this long is not in a spell. */
const STEADY = 1.5;
/** The correction of a variant and batch size changes no more often than this. */
const CELL_HOLD = 2;
/** The pool is not taken to be faster than this. */
const FASTEST = 2;

interface MonitorOptions {
  /** False for a policy that decides as profiled whatever is measured. */
  readonly adapt: boolean;
  /** Whether expected times are means, so that a pool that takes less is faster. */
  readonly mayBeFaster: boolean;
  readonly beatMs: number;
  /** Measured path of the server, if it is known. */
  readonly serving?: Pick<ServingPath, "wakeMs"> | undefined;
}

/**
 * The pace of each worker: measured service time over the profiled one, 1 as profiled, 2 half as
 * fast. It is the product of the pool's pace, which all runs measure together and which therefore
 * follows a change within a few batches, and of what one worker takes relative to its pool. A third
 * factor, `correction`, belongs to a variant and batch size whose profile is wrong.
 *
 * A pure state machine: time is an argument and nothing is allocated after construction.
 */
export class PaceMonitor {
  /** Whether all workers have the same pace. */
  isEven = true;
  /** Pace of the pool: capacity of workers as profiled over that of the workers that are up. */
  poolPace = 1;
  /** Pace of the worker in the middle. */
  medianPace = 1;
  /**
   * Load that the cluster as profiled would have to carry for each query that arrives: workers of
   * the cluster over the sum of 1 / pace of those that are up.
   */
  stretch = 1;
  /** Largest of the corrections. */
  mostCorrection = 1;
  /** Sums over all batches: what they took, and what was expected of them, ms. */
  ranMs = 0;
  expectedMs = 0;
  readonly #adapts: boolean;
  readonly #beatMs: number;
  /**
   * A batch may take as much longer when its thread waits for a processor, ms: models that are
   * quicker say little about what distinguishes a worker from its pool.
   */
  readonly #jitterMs: number;
  readonly #workerCount: number;
  readonly #pool: RatioTracker;
  readonly #workers: RatioTracker;
  readonly #tail: TailTracker;
  readonly #cells: RatioTracker;
  readonly #isUp: Uint8Array;
  readonly #lastRunMs: Float64Array;
  /** When a worker was last no slower than most. */
  readonly #evenMs: Float64Array;
  /** Workers that are up by their index in the grid, and those of them that ran lately. */
  readonly #upByIndex = new Uint32Array(RATIO_GRID.length);
  readonly #activeByIndex = new Uint32Array(RATIO_GRID.length);
  readonly #isActive: Uint8Array;
  #upCount = 0;
  #activeCount = 0;
  /** Workers that there should be. */
  #wanted: number;
  #median = UNIT;
  #settleMs = Number.POSITIVE_INFINITY;

  /**
   * @param cellCount variants times batch sizes, as `cellOf` numbers them.
   */
  constructor(workerCount: number, cellCount: number, options: MonitorOptions) {
    const { adapt, mayBeFaster, beatMs, serving } = options;
    this.#jitterMs = serving?.wakeMs.p95 ?? 0;
    const rules = { holdMs: HOLD * beatMs, stepMs: STEP * beatMs, beatMs };
    this.#beatMs = beatMs;
    this.#tail = new TailTracker(beatMs);
    this.#adapts = adapt;
    const lowest = mayBeFaster ? FASTEST : UNIT;
    // Runs of many workers in turn may all be slow by chance.
    const jumpRuns = Math.min(MOST_JUMP_RUNS, 2 + Math.floor(workerCount / WORKERS_PER_RUN));
    this.#pool = new RatioTracker(1, { ...rules, lowest, jumpRuns });
    this.#workerCount = workerCount;
    this.#wanted = workerCount;
    this.#workers = new RatioTracker(workerCount, rules);
    this.#cells = new RatioTracker(cellCount, {
      holdMs: CELL_HOLD * beatMs,
      stepMs: CELL_HOLD * beatMs,
      beatMs,
      lowest: UNIT,
      isSlow: true,
    });
    this.#isUp = new Uint8Array(workerCount);
    this.#isActive = new Uint8Array(workerCount);
    this.#lastRunMs = new Float64Array(workerCount);
    this.#evenMs = new Float64Array(workerCount);
  }

  /** Called when a worker has come up. */
  onReady(worker: number): void {
    if (this.#isUp[worker] === 1) return;
    this.#isUp[worker] = 1;
    this.#upCount++;
    this.#workers.reset(worker, UNIT);
    this.#upByIndex[UNIT]!++;
    this.#refresh();
  }

  /** A worker has gone down. */
  onLost(worker: number): void {
    if (this.#isUp[worker] !== 1) return;
    this.#isUp[worker] = 0;
    this.#upCount--;
    this.#setActive(worker, 0);
    this.#upByIndex[this.#workers.index[worker]!]!--;
    this.#refresh();
  }

  /** Sets the number of workers that this front end should have; at first all of the cluster. */
  share(workers: number): void {
    this.#wanted = Math.min(this.#workerCount, Math.max(1, workers));
    this.#refresh();
  }

  /**
   * Takes the measured time of a batch.
   * @param rareMs p99 of the profile under the same contention; the expected time if that alone is
   * known, or slow spells decide nothing.
   */
  onRun(
    worker: number,
    ranMs: number,
    expectedMs: number,
    variance: number,
    cell: number,
    nowMs: number,
    rareMs: number,
  ): void {
    if (!(ranMs >= 0 && expectedMs > 0)) return;
    this.ranMs += ranMs;
    this.expectedMs += expectedMs;
    if (!this.#adapts) return;
    const relative = this.#workers.valueOf(worker);
    if (this.#workers.index[worker]! <= this.#median) this.#evenMs[worker] = nowMs;
    const isSteady = nowMs - this.#evenMs[worker]! >= STEADY * this.#beatMs;
    this.#lastRunMs[worker] = nowMs;
    const jitterMs = this.#jitterMs;
    const profiled = variance * expectedMs * expectedMs + (jitterMs * jitterMs) / 4;
    const spread = profiled / (expectedMs * expectedMs);
    let isChanged = this.#pool.add(0, ranMs, expectedMs * relative, spread, nowMs);
    const beyondMost = isSteady ? relative / RATIO_GRID[this.#median]! : 1;
    if (this.#tail.add(ranMs / (rareMs * beyondMost), nowMs)) isChanged = true;
    const pool = this.#pool.valueOf(0);
    if (this.#workerCount > 1 && this.#isUp[worker] === 1) {
      if (this.#setActive(worker, 1)) isChanged = true;
      const before = this.#workers.index[worker]!;
      const ofPoolMs = expectedMs * pool + jitterMs;
      const spreadOfWorker = profiled / (ofPoolMs * ofPoolMs);
      if (this.#workers.add(worker, ranMs + jitterMs, ofPoolMs, spreadOfWorker, nowMs)) {
        const after = this.#workers.index[worker]!;
        this.#upByIndex[before]!--;
        this.#upByIndex[after]!++;
        this.#activeByIndex[before]!--;
        this.#activeByIndex[after]!++;
        isChanged = true;
      }
    }
    if (this.#cells.add(cell, ranMs, expectedMs * pool * relative, variance, nowMs)) {
      this.#noteCorrections();
    }
    if (isChanged) this.#refresh();
  }

  /**
   * Lets the paces of workers that run nothing go back to that of the pool, and the pool's to 1.
   * Called before decisions; times must not go back.
   */
  look(nowMs: number): void {
    if (nowMs < this.#settleMs) return;
    this.#settleMs = nowMs + STEP * this.#beatMs;
    let newestMs = Number.NEGATIVE_INFINITY;
    for (let worker = 0; worker < this.#workerCount; worker++) {
      const lastMs = this.#lastRunMs[worker]!;
      newestMs = Math.max(newestMs, lastMs);
      if (this.#isUp[worker] !== 1 || nowMs - lastMs < IDLE * this.#beatMs) continue;
      this.#setActive(worker, 0);
      const index = this.#workers.index[worker]!;
      const median = this.#median;
      this.#upByIndex[index]!--;
      this.#upByIndex[median]!++;
      this.#workers.reset(worker, median);
    }
    if (nowMs - newestMs >= IDLE * this.#beatMs) this.#forget();
    this.#refresh();
  }

  /** @returns whether this is a change. */
  #setActive(worker: number, isActive: 0 | 1): boolean {
    if (this.#isActive[worker] === isActive) return false;
    this.#isActive[worker] = isActive;
    const change = isActive === 1 ? 1 : -1;
    this.#activeCount += change;
    this.#activeByIndex[this.#workers.index[worker]!]! += change;
    return true;
  }

  /** Takes all workers to be as profiled. */
  #forget(): void {
    this.#pool.reset(0, UNIT);
    this.#tail.reset();
    this.#upByIndex.fill(0);
    this.#upByIndex[UNIT] = this.#upCount;
    this.#activeByIndex.fill(0);
    this.#isActive.fill(0);
    this.#activeCount = 0;
    for (let worker = 0; worker < this.#workerCount; worker++) this.#workers.reset(worker, UNIT);
  }

  isUp(worker: number): boolean {
    return this.#isUp[worker] === 1;
  }

  /**
   * Pace to assume for a batch on a worker, relative to the profile: that of the worker or, if its
   * workers have unpredictable slow spells, that of such a spell.
   */
  paceOf(worker: number): number {
    return Math.max(this.#pool.valueOf(0) * this.#workers.valueOf(worker), this.#tail.value);
  }

  /** Pace of a worker in the mean, by which capacity is counted. */
  meanPaceOf(worker: number): number {
    return this.#pool.valueOf(0) * this.#workers.valueOf(worker);
  }

  /** Whether a worker has been much slower than most of its pool for long. */
  isSteadyStraggler(worker: number, nowMs: number): boolean {
    return this.isStraggler(worker) && nowMs - this.#evenMs[worker]! >= STEADY * this.#beatMs;
  }

  /** Whether a worker is much slower than most of its pool. */
  isStraggler(worker: number): boolean {
    return this.#workers.valueOf(worker) > STRAGGLER * RATIO_GRID[this.#median]!;
  }

  /** Factor of a variant and batch size beyond the pace, relative to its profile; 1 as profiled. */
  correctionOf(cell: number): number {
    return this.#cells.valueOf(cell);
  }

  /** Batches of a cell that were measured. */
  runsOf(cell: number): number {
    return this.#cells.runsOf(cell);
  }

  #noteCorrections(): void {
    this.mostCorrection = 1;
    for (let cell = 0; cell < this.#cells.index.length; cell++) {
      this.mostCorrection = Math.max(this.mostCorrection, this.#cells.valueOf(cell));
    }
  }

  /** Recomputes the values that depend on all workers. */
  #refresh(): void {
    if (!this.#adapts) return;
    let rate = 0;
    let used = 0;
    let below = 0;
    this.#median = UNIT;
    for (let index = 0; index < RATIO_GRID.length; index++) {
      const count = this.#upByIndex[index]!;
      if (count === 0) continue;
      used++;
      rate += count / RATIO_GRID[index]!;
      const active = this.#activeByIndex[index]!;
      if (active > 0 && 2 * below < this.#activeCount) this.#median = index;
      below += active;
    }
    const pool = this.#pool.valueOf(0);
    this.isEven = used <= 1;
    const isEven = this.isEven && this.#upByIndex[UNIT] === this.#upCount;
    const isSettled = isEven && pool === 1 && this.#tail.value === 1;
    if (isSettled) this.#settleMs = Number.POSITIVE_INFINITY;
    else if (this.#settleMs === Number.POSITIVE_INFINITY) this.#settleMs = 0;
    if (this.#upCount === 0) return;
    assert(rate > 0, "workers that are up have a rate");
    this.medianPace = Math.max(pool * RATIO_GRID[this.#median]!, this.#tail.value);
    this.poolPace = (pool * this.#upCount) / rate;
    this.stretch = (pool * Math.max(this.#upCount, this.#wanted)) / rate;
  }
}

/** Number of the cell of a variant and batch size: sizes by powers of two. */
export function cellOf(variant: number, batch: number, sizes: number): number {
  return variant * sizes + Math.min(sizes - 1, 31 - Math.clz32(batch));
}

/** Returns the number of powers of two up to a batch size. */
export function sizesUpTo(maxBatch: number): number {
  return 32 - Math.clz32(Math.max(1, maxBatch));
}

/** Variance over mean² of a batch whose profile states one number. */
export const UNKNOWN_VARIANCE = 0.0025;

/** Variance over mean² of times that equal those that a policy was computed with. */
export const FIXED_VARIANCE = 1e-4;

/** Times that a policy is compared with: means if quantiles were measured, or the decisions'. */
export type ReferenceMode = "measured" | "decision";

/** Expected times of one task's variants and batch sizes. */
export class PaceReference {
  readonly cellCount: number;
  /** Whether expected times are means of batch times. */
  readonly knowsMeans: boolean;
  readonly #maxBatch: number;
  readonly #sizes: number;
  /** [variantCount, maxBatch] */
  readonly #meanMs: Float64Array;
  readonly #variance: Float64Array;
  /** [variantCount, maxBatch]: p99 over mean. */
  readonly #rare: Float64Array;
  readonly #contention: readonly number[];
  /** Infinite if the machine is unknown. */
  readonly #processors: number;

  /**
   * @param mode `decision` if batches take what the policy was computed with.
   * @param contends whether workers compete for processors.
   */
  constructor(
    times: ServiceTimes,
    { serving }: Pick<Cluster, "serving">,
    mode: ReferenceMode,
    contends = true,
  ) {
    const { decisionMs, quantiles } = times;
    const [variantCount = 0, maxBatch = 0] = decisionMs.shape;
    this.#maxBatch = maxBatch;
    this.#sizes = sizesUpTo(maxBatch);
    this.cellCount = variantCount * this.#sizes;
    this.#contention = (contends ? serving?.contention : undefined) ?? [];
    this.#processors = (contends ? serving?.processors : undefined) ?? Number.POSITIVE_INFINITY;
    this.knowsMeans = quantiles !== null || mode === "decision";
    if (quantiles === null || mode === "decision") {
      const stretch = serving?.stretch ?? 1;
      this.#meanMs = Float64Array.from(decisionMs.data, (ms) => ms / stretch);
      const variance = mode === "decision" ? FIXED_VARIANCE : UNKNOWN_VARIANCE;
      this.#variance = new Float64Array(this.#meanMs.length).fill(variance);
      this.#rare = new Float64Array(this.#meanMs.length).fill(1);
      return;
    }
    this.#meanMs = Float64Array.from(quantiles.meanMs.data);
    this.#rare = Float64Array.from(this.#meanMs, (mean, cell) => {
      return Math.max(1, (quantiles.p99Ms.data[cell] ?? mean) / mean);
    });
    this.#variance = Float64Array.from(this.#meanMs, (mean, cell) => {
      const [p50 = 0, p95 = 0, p99 = 0] = [quantiles.p50Ms, quantiles.p95Ms, quantiles.p99Ms].map(
        ({ data }) => data[cell],
      );
      return Math.max(FIXED_VARIANCE, varianceOf(quantileKnots(p50, p95, p99, mean)));
    });
  }

  /** @param busyWorkers that computed at once, this one included. */
  expectedMs(variant: number, batch: number, busyWorkers: number): number {
    const contention = this.#contention;
    const most = contention.length;
    let factor = most === 0 ? 1 : contention[Math.min(busyWorkers, most) - 1]!;
    // Beyond the measured number, workers share the processors.
    if (busyWorkers > most) factor *= Math.max(1, busyWorkers / Math.max(most, this.#processors));
    return this.#meanMs[variant * this.#maxBatch + batch - 1]! * factor;
  }

  /** The profile's p99 over its mean; 1 where the profile states one number. */
  rare(variant: number, batch: number): number {
    return this.#rare[variant * this.#maxBatch + batch - 1]!;
  }

  variance(variant: number, batch: number): number {
    return this.#variance[variant * this.#maxBatch + batch - 1]!;
  }

  cellOf(variant: number, batch: number): number {
    return cellOf(variant, batch, this.#sizes);
  }
}

const KNOT_PROBABILITY = [0, 0.5, 0.95, 0.99, 1];

/** Variance over mean² of a distribution that is linear between its quantiles. */
export function varianceOf(knots: Float64Array): number {
  let [mean, second] = [0, 0];
  for (let knot = 0; knot + 1 < KNOT_COUNT; knot++) {
    const [low = 0, high = 0] = [knots[knot], knots[knot + 1]];
    const share = (KNOT_PROBABILITY[knot + 1] ?? 1) - (KNOT_PROBABILITY[knot] ?? 0);
    mean += (share * (low + high)) / 2;
    second += (share * (low * low + low * high + high * high)) / 3;
  }
  return mean > 0 ? second / (mean * mean) - 1 : 0;
}
