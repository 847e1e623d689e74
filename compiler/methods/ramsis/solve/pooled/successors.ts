/**
 * Successors of an action of the fast server: its reward, its time, and the possible next states
 * with their weights. All results are left in fields, which the next action overwrites.
 */
import type { PooledProblem } from "./pooled-problem.ts";
import type { ServedAction } from "./served-actions.ts";
import type { StateGrid } from "./state-grid.ts";

/** Maximum successors of one action. */
const MAX_SUCCESSORS = 96;

export class Successors {
  /** μ, in accuracy. */
  violationPrice = 0;
  /** Reward per ms of waiting. */
  credit = 0;
  /** Cost of the latency of a served query, in accuracy per ms. */
  latencyCost = 0;
  count = 0;
  reward = 0;
  durationMs = 0;
  /** [count]: waiting queries of the next state, the age of the first, and the probability. */
  readonly nextQueued = new Float64Array(MAX_SUCCESSORS);
  readonly nextAgeMs = new Float64Array(MAX_SUCCESSORS);
  readonly nextWeight = new Float64Array(MAX_SUCCESSORS);
  readonly #grid: StateGrid;
  readonly #capacity: number;
  readonly #sloMs: number;
  readonly #ratePerMs: number;
  readonly #dispersion: number;
  /** Maximum batches that are started in one step. */
  readonly #batchesPerStep: number;

  constructor(problem: PooledProblem, grid: StateGrid, batchesPerStep: number) {
    this.#grid = grid;
    this.#capacity = problem.capacity;
    this.#sloMs = problem.sloMs;
    this.#ratePerMs = problem.arrivalsPerMs;
    this.#dispersion = problem.dispersion;
    this.#batchesPerStep = batchesPerStep;
  }

  /**
   * Serves several batches at once if one changes next to nothing.
   * @param mostBatches of them.
   */
  serve(
    { batch, reward, runMs, stepMs, gap }: ServedAction,
    queued: number,
    ageMs: number,
    mostBatches = this.#batchesPerStep,
  ): void {
    const few = Math.floor(queued / (4 * batch));
    const batches = Math.max(1, Math.min(mostBatches, few));
    const durationMs = batches * stepMs;
    const served = batches * batch;
    // The first has waited for A, and of n queries the k-th for A · (n − k + 1) / n on average.
    const waitedMs = ageMs * (1 - (served - 1) / (2 * queued));
    const latencyMs = waitedMs + ((batches - 1) / 2) * stepMs + runMs;
    this.#begin(batches * reward - this.latencyCost * served * latencyMs, durationMs);
    const left = queued - served;
    if (left <= 0) {
      for (const { count, weight } of gap) this.#afterEmpty(count, durationMs, weight);
      return;
    }
    const middleMs = (ageMs * left) / queued;
    const deviationMs = (ageMs * Math.sqrt((left * (queued - left)) / (queued + 1))) / queued;
    const youngMs = Math.max(0, middleMs - deviationMs);
    const oldMs = Math.min(ageMs, 2 * middleMs - youngMs);
    if (batches > 1) {
      // Two independent deviations: exact for polynomials of degree three.
      const mean = this.#ratePerMs * durationMs;
      const deviation = Math.sqrt(mean * this.#dispersion * 2);
      const apartMs = (oldMs - youngMs) * Math.SQRT1_2;
      this.#next(Math.max(1, left + mean - deviation), middleMs + durationMs, 0.25);
      this.#next(left + mean + deviation, middleMs + durationMs, 0.25);
      this.#next(left + mean, Math.max(0, middleMs - apartMs) + durationMs, 0.25);
      this.#next(left + mean, Math.min(ageMs, middleMs + apartMs) + durationMs, 0.25);
      return;
    }
    for (const { count, weight } of gap) {
      if (deviationMs <= 0) this.#next(left + count, middleMs + durationMs, weight);
      else {
        this.#next(left + count, youngMs + durationMs, weight / 2);
        this.#next(left + count, oldMs + durationMs, weight / 2);
      }
    }
  }

  /** Drops the first query. */
  giveUp(queued: number, ageMs: number): void {
    this.#begin(-this.violationPrice, 0);
    const left = queued - 1;
    if (left <= 0) {
      this.#nextEmpty(1);
      return;
    }
    const middleMs = (ageMs * left) / queued;
    const deviationMs = (ageMs * Math.sqrt(left / (queued + 1))) / queued;
    this.#next(left, Math.max(0, middleMs - deviationMs), 0.5);
    this.#next(left, Math.min(ageMs, middleMs + deviationMs), 0.5);
  }

  /** Waits for the next query, or until the age falls into another column. */
  wait(queued: number, ageMs: number): void {
    const grid = this.#grid;
    grid.locate(queued, ageMs);
    const columnMs = Math.max(1e-9 * this.#sloMs, grid.ageMs[grid.column + 1]! - ageMs);
    if (this.#batchesPerStep > 1) {
      const durationMs = Math.min(columnMs, this.#batchesPerStep / this.#ratePerMs);
      this.#begin(this.credit * durationMs, durationMs);
      this.#next(queued + this.#ratePerMs * durationMs, ageMs + durationMs, 1);
      return;
    }
    const noArrival = Math.exp(-this.#ratePerMs * columnMs);
    const meanMs = (1 - noArrival) / this.#ratePerMs;
    this.#begin(this.credit * meanMs, meanMs);
    this.#next(queued, ageMs + columnMs, noArrival);
    const comesMs = 1 / this.#ratePerMs - (columnMs * noArrival) / (1 - noArrival);
    this.#next(queued + 1, ageMs + Math.max(0, comesMs), 1 - noArrival);
  }

  /** The queue was empty: the first of the new arrivals has waited the longest. */
  #afterEmpty(count: number, durationMs: number, weight: number): void {
    if (count >= 1) this.#next(count, (durationMs * count) / (count + 1), weight);
    else this.#nextEmpty(weight);
  }

  #begin(reward: number, durationMs: number): void {
    this.count = 0;
    this.reward = reward;
    this.durationMs = durationMs;
  }

  #next(queued: number, ageMs: number, weight: number): void {
    const sloMs = this.#sloMs;
    const capacity = this.#capacity;
    let [left, age] = [queued, ageMs];
    if (left > capacity) {
      this.reward -= weight * (left - capacity) * this.violationPrice;
      left = capacity;
    }
    if (age > sloMs) {
      // Queries whose deadline passes in the meantime are lost.
      const lost = Math.min(left, 1 + ((left - 1) * (age - sloMs)) / age);
      this.reward -= weight * lost * this.violationPrice;
      left = Math.max(1, left - lost);
      age = sloMs;
    }
    this.nextQueued[this.count] = left;
    this.nextAgeMs[this.count] = age;
    this.nextWeight[this.count++] = weight;
  }

  #nextEmpty(weight: number): void {
    this.durationMs += weight / this.#ratePerMs;
    this.#next(1, 0, weight);
  }
}
