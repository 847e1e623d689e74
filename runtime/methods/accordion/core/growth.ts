/** Chooses which running queries get free places. */
import { NONE } from "./pipeline-table.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/** Less is what sums are rounded to, ms. */
const LEAST_GAIN_MS = 1e-6;

/** Who gets more places: a running query and its larger shape. */
export interface Larger {
  readonly query: number;
  readonly shape: number;
}

/** Which running queries gain from free places, the cost of changing included. Beyond the paper. */
export class Growth {
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #reconfigurationMs: number;

  constructor(runs: QueryRuns, choice: ShapeChoice, reconfigurationMs: number) {
    this.#runs = runs;
    this.#choice = choice;
    this.#reconfigurationMs = reconfigurationMs;
  }

  /**
   * Finds, among the queries of high priority that will be late as they are and on time with free
   * places, the one with the earliest deadline, and the fewest places that do; null if there is
   * none.
   */
  findRescue(nowMs: number): Larger | null {
    const runs = this.#runs;
    let rescue: Larger | null = null;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < runs.activeCount; index++) {
      const query = runs.active(index);
      const deadlineMs = runs.deadlineMs(query);
      if (!runs.isHigh(query) || deadlineMs >= earliestMs || deadlineMs < nowMs) continue;
      if (runs.finishMs(query, nowMs) <= deadlineMs) continue;
      const shape = this.#leastLarger(query, deadlineMs - nowMs - this.#reconfigurationMs);
      if (shape === NONE) continue;
      rescue = { query, shape };
      earliestMs = deadlineMs;
    }
    return rescue;
  }

  #leastLarger(query: number, budgetMs: number): number {
    const shape = this.#runs.shape(query);
    const end = this.#choice.endOfLarger(shape);
    for (let larger = shape + 1; larger < end; larger++) {
      if (this.#runs.timeLeftMs(query, larger) > budgetMs) continue;
      if (this.#choice.isFreeBeyond(larger, shape)) return larger;
    }
    return NONE;
  }

  /** The query that gains the most time, and the shape that gains it; null if none gains any. */
  findGain(nowMs: number): Larger | null {
    const runs = this.#runs;
    let query = NONE;
    let shape = NONE;
    let mostMs = LEAST_GAIN_MS;
    for (let index = 0; index < runs.activeCount; index++) {
      const one = runs.active(index);
      const leftMs = runs.finishMs(one, nowMs) - nowMs - this.#reconfigurationMs;
      const end = this.#choice.endOfLarger(runs.shape(one));
      for (let larger = runs.shape(one) + 1; larger < end; larger++) {
        const gainMs = leftMs - runs.timeLeftMs(one, larger);
        if (gainMs <= mostMs || !this.#choice.isFreeBeyond(larger, runs.shape(one))) continue;
        [query, shape, mostMs] = [one, larger, gainMs];
      }
    }
    return query === NONE ? null : { query, shape };
  }
}
