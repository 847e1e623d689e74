/** How far rare slow runs go beyond what the profile calls rare. */

/** Part of what was seen that is forgotten with each run, at least ... */
const FORGETS = 1 / 256;
/** ... and what was seen so long ago, ms. */
const MEMORY_MS = 2000;
/** Part of the runs that may lie beyond a value; of the profile 1 % lie beyond its p99. */
const RARE = 0.03;
/** Runs below which nothing is known. */
const LEAST_RUNS = 16;
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
  #runs = 0;
  #lastMs = 0;

  /** @returns whether the value changed. */
  add(ratio: number, nowMs: number): boolean {
    const sinceMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#runs++;
    const kept = 1 - Math.max(FORGETS, sinceMs / (MEMORY_MS + sinceMs));
    const weights = this.#weights;
    let bin = 0;
    while (bin < STEPS && ratio > GRID[bin]! * HALF_STEP) bin++;
    let total = 1;
    for (let index = 0; index < weights.length; index++) {
      weights[index]! *= kept;
      total += weights[index]!;
    }
    weights[bin]! += 1;
    if (this.#runs < LEAST_RUNS) return false;
    let index = STEPS - 1;
    let beyond = weights[STEPS]!;
    while (index > 0 && beyond + weights[index]! <= RARE * total) beyond += weights[index--]!;
    const isChanged = GRID[index]! !== this.value;
    this.value = GRID[index]!;
    return isChanged;
  }

  reset(): void {
    this.value = 1;
    this.#runs = 0;
    this.#weights.fill(0);
  }
}
