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

  /** The query that gains the most time, and the shape that gains it; null if none gains any. */
  find(nowMs: number): Larger | null {
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
