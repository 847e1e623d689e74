/** Chooses which running queries get free places. */
import type { Claims } from "./claims.ts";
import { NONE } from "./pipeline-table.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/** Running query and the larger shape that it gets. */
interface Larger {
  readonly query: number;
  readonly shape: number;
}

type GrowingRuns = Pick<
  QueryRuns,
  "activeCount" | "active" | "finishMs" | "shape" | "timeLeftMs" | "toleranceMs"
>;
type GrowingChoice = Pick<ShapeChoice, "endOfLarger" | "isFreeBeyond">;

/** Which running queries gain from free places, the cost of changing included. Beyond the paper. */
export class Growth {
  readonly #runs: GrowingRuns;
  readonly #choice: GrowingChoice;
  readonly #claims: Pick<Claims, "allows">;
  readonly #reconfigurationMs: number;

  constructor(
    runs: GrowingRuns,
    choice: GrowingChoice,
    claims: Pick<Claims, "allows">,
    reconfigurationMs: number,
  ) {
    this.#runs = runs;
    this.#choice = choice;
    this.#claims = claims;
    this.#reconfigurationMs = reconfigurationMs;
  }

  /**
   * Returns the query that gains the most time without harm to a claim, and the shape that gains
   * it; null if none gains.
   */
  find(nowMs: number): Larger | null {
    const runs = this.#runs;
    let query = NONE;
    let shape = NONE;
    let mostMs = runs.toleranceMs;
    for (let index = 0; index < runs.activeCount; index++) {
      const one = runs.active(index);
      const leftMs = runs.finishMs(one, nowMs) - nowMs - this.#reconfigurationMs;
      const end = this.#choice.endOfLarger(runs.shape(one));
      for (let larger = runs.shape(one) + 1; larger < end; larger++) {
        const largerMs = runs.timeLeftMs(one, larger);
        const gainMs = leftMs - largerMs;
        if (gainMs <= mostMs || !this.#choice.isFreeBeyond(larger, runs.shape(one))) continue;
        const endMs = nowMs + this.#reconfigurationMs + largerMs;
        if (!this.#claims.allows(one, larger, endMs, null, nowMs)) continue;
        [query, shape, mostMs] = [one, larger, gainMs];
      }
    }
    return query === NONE ? null : { query, shape };
  }
}
