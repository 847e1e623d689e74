/** How slow workers are compared with the profile, and how much of their capacity is left. */
import { assert } from "./assert.ts";
import { RATIO_GRID, RatioTracker, UNIT } from "./ratio-tracker.ts";
import { TailTracker } from "./tail-tracker.ts";

// Times are in beats.

/** After a rise the pace does not fall for this long, and then one step at a time. */
const HOLD = 0.5;
const STEP = 0.1;
/** A worker without a batch for this long is taken to be as fast as its pool. */
const IDLE = 2;
/** A worker that is slower than the median of its pool by more than this factor is a straggler. */
const STRAGGLER = 1.5;
/** Slow runs in turn that show a slower pool: one more for each of so many workers. */
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
  readonly #adapts: boolean;
  readonly #beatMs: number;
  readonly #workerCount: number;
  readonly #pool: RatioTracker;
  readonly #workers: RatioTracker;
  readonly #tail: TailTracker;
  readonly #cells: RatioTracker;
  readonly #isUp: Uint8Array;
  readonly #lastRunMs: Float64Array;
  /** When a worker was last seen to be no slower than most. */
  readonly #evenMs: Float64Array;
  /** Workers that are up by their index in the grid. */
  readonly #upByIndex = new Uint32Array(RATIO_GRID.length);
  #upCount = 0;
  /** Workers that there should be. */
  #wanted: number;
  #median = UNIT;
  #settleMs = Number.POSITIVE_INFINITY;

  /**
   * @param cellCount variants times batch sizes, as `cellOf` numbers them.
   */
  constructor(workerCount: number, cellCount: number, options: MonitorOptions) {
    const { adapt, mayBeFaster, beatMs } = options;
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
    this.#lastRunMs = new Float64Array(workerCount);
    this.#evenMs = new Float64Array(workerCount);
  }

  /** A worker has come up. */
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
   * @param rareMs p99 of the profile under the same contention; the expected time where that is all
   * that is known.
   */
  onRun(
    worker: number,
    ranMs: number,
    expectedMs: number,
    variance: number,
    cell: number,
    nowMs: number,
    rareMs = expectedMs,
  ): void {
    if (!(this.#adapts && ranMs >= 0 && expectedMs > 0)) return;
    const relative = this.#workers.valueOf(worker);
    if (this.#workers.index[worker]! <= this.#median) this.#evenMs[worker] = nowMs;
    const isSteady = nowMs - this.#evenMs[worker]! >= STEADY * this.#beatMs;
    this.#lastRunMs[worker] = nowMs;
    let isChanged = this.#pool.add(0, ranMs, expectedMs * relative, variance, nowMs);
    const beyondMost = isSteady ? relative / RATIO_GRID[this.#median]! : 1;
    if (this.#tail.add(ranMs / (rareMs * beyondMost), nowMs)) isChanged = true;
    const pool = this.#pool.valueOf(0);
    if (this.#workerCount > 1 && this.#isUp[worker] === 1) {
      const before = this.#workers.index[worker]!;
      if (this.#workers.add(worker, ranMs, expectedMs * pool, variance, nowMs)) {
        this.#upByIndex[before]!--;
        this.#upByIndex[this.#workers.index[worker]!]!++;
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
      const index = this.#workers.index[worker]!;
      const median = this.#median;
      if (this.#isUp[worker] !== 1 || index === median || nowMs - lastMs < IDLE * this.#beatMs)
        continue;
      this.#upByIndex[index]!--;
      this.#upByIndex[median]!++;
      this.#workers.reset(worker, median);
    }
    if (nowMs - newestMs >= IDLE * this.#beatMs) this.#forget();
    this.#refresh();
  }

  /** Takes all workers to be as profiled. */
  #forget(): void {
    this.#pool.reset(0, UNIT);
    this.#tail.reset();
    this.#upByIndex.fill(0);
    this.#upByIndex[UNIT] = this.#upCount;
    for (let worker = 0; worker < this.#workerCount; worker++) this.#workers.reset(worker, UNIT);
  }

  isUp(worker: number): boolean {
    return this.#isUp[worker] === 1;
  }

  /**
   * What a batch on a worker has to be taken to need, relative to the profile: the pace of the
   * worker or, if its workers have unpredictable slow spells, that of such a spell.
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

  /**
   * What a variant and batch size takes beyond the pace, relative to its profile; 1 as profiled.
   */
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

  /** Sums anew what depends on all workers. */
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
      if (2 * below < this.#upCount) this.#median = index;
      below += count;
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

/** How many sizes by powers of two there are up to a batch. */
export function sizesUpTo(maxBatch: number): number {
  return 32 - Math.clz32(Math.max(1, maxBatch));
}
