/** How far rare slow runs go beyond what the profile calls rare. */
import { RATIO_GRID, UNIT } from "./ratio-tracker.ts";

/** Part of what was seen that is forgotten with each run, at least ... */
const FORGETS = 1 / 256;
/** ... and what was seen so long ago, ms. */
const MEMORY_MS = 2000;
/** Part of the runs that may lie beyond a value; of the profile 1 % lie beyond its p99. */
const RARE = 0.03;
/** Runs below which nothing is known. */
const LEAST_RUNS = 16;
/** Rounding that does not make a run slower. */
const ROUNDING = 1.03;

/**
 * The smallest value of `RATIO_GRID`, at least 1, that no more than `RARE` of the recent runs
 * exceed. A run's ratio is its time over the profile's p99, so that a machine as profiled has 1.
 * Nothing is allocated after construction.
 */
export class TailTracker {
  value = 1;
  /** Weight of the runs between each value of the grid and the one below. */
  readonly #weights = new Float64Array(RATIO_GRID.length + 1);
  #runs = 0;
  #lastMs = 0;

  /** @returns whether the value changed. */
  add(ratio: number, nowMs: number): boolean {
    const sinceMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#runs++;
    const kept = 1 - Math.max(FORGETS, sinceMs / (MEMORY_MS + sinceMs));
    const weights = this.#weights;
    let bin = UNIT;
    while (bin < RATIO_GRID.length && ratio > RATIO_GRID[bin]! * ROUNDING) bin++;
    let total = 1;
    for (let index = UNIT; index < weights.length; index++) {
      weights[index]! *= kept;
      total += weights[index]!;
    }
    weights[bin]! += 1;
    if (this.#runs < LEAST_RUNS) return false;
    let index = RATIO_GRID.length - 1;
    let beyond = weights[index + 1]!;
    while (index > UNIT && beyond + weights[index]! <= RARE * total) beyond += weights[index--]!;
    const isChanged = RATIO_GRID[index]! !== this.value;
    this.value = RATIO_GRID[index]!;
    return isChanged;
  }

  reset(): void {
    this.value = 1;
    this.#runs = 0;
    this.#weights.fill(0);
  }
}
