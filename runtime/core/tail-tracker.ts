/** How far rare slow runs go beyond what the profile calls rare. */

/** Part of what was seen that is forgotten with each run, at least ... */
const FORGETS = 1 / 256;
/** ... and what was seen so many beats ago. */
const MEMORY = 2;
/** Part of the runs that may lie beyond a value; of the profile 1 % lie beyond its p99. */
const RARE = 0.03;
/** Runs below which nothing is known. */
const LEAST_RUNS = 16;
/** Weights are scaled before they get larger, long before they overflow. */
const MOST_WEIGHT = 2 ** 64;
/** Values that can be told apart: each is so many times the one below, from 1 to 8. */
const STEP = 1.059463;
const STEPS = 37;
const GRID = new Float64Array(STEPS).fill(1);
for (let index = 1; index < STEPS; index++) GRID[index] = GRID[index - 1]! * STEP;
/** A run up to half a step above a value counts as that value. */
const HALF_STEP = Math.sqrt(STEP);

/**
 * The smallest value, at least 1, that no more than `RARE` of the recent runs exceed. A run's ratio
 * is its time over the profile's p99, so that a machine as profiled has 1. Nothing is allocated
 * after construction.
 */
export class TailTracker {
  value = 1;
  /** Weight of the runs between each value of the grid and the one below. */
  readonly #weights = new Float64Array(STEPS + 1);
  /** Weight of the next run: instead of old runs losing weight, new ones have more. */
  #weight = 1;
  #total = 0;
  #runs = 0;
  #lastMs = 0;
  readonly #memoryMs: number;

  constructor(beatMs: number) {
    this.#memoryMs = MEMORY * beatMs;
  }

  /** @returns whether the value changed. */
  add(ratio: number, nowMs: number): boolean {
    const sinceMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#runs++;
    this.#weight /= 1 - Math.max(FORGETS, sinceMs / (this.#memoryMs + sinceMs));
    if (this.#weight > MOST_WEIGHT) this.#scale();
    const weights = this.#weights;
    let bin = 0;
    while (bin < STEPS && ratio > GRID[bin]! * HALF_STEP) bin++;
    weights[bin]! += this.#weight;
    this.#total += this.#weight;
    if (this.#runs < LEAST_RUNS) return false;
    let index = STEPS - 1;
    let beyond = weights[STEPS]!;
    while (index > 0 && beyond + weights[index]! <= RARE * this.#total) beyond += weights[index--]!;
    const isChanged = GRID[index]! !== this.value;
    this.value = GRID[index]!;
    return isChanged;
  }

  reset(): void {
    this.value = 1;
    this.#runs = 0;
    this.#weight = 1;
    this.#total = 0;
    this.#weights.fill(0);
  }

  #scale(): void {
    const weights = this.#weights;
    for (let index = 0; index < weights.length; index++) weights[index]! /= this.#weight;
    this.#total /= this.#weight;
    this.#weight = 1;
  }
}
