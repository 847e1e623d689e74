import { NONE } from "./pipeline-table.ts";
import type { PlaceRule } from "./place-rule.ts";
import type { QueryRuns } from "./query-runs.ts";

/** Of moments that are computed, ms. */
const TOLERANCE_MS = 1e-6;

/** Gives queries of low priority up when their turn comes and they would be too late: what waiting cost is known by then, not foretold. Beyond the paper. */
export class TurnDropout {
  readonly #runs: QueryRuns;
  readonly #rule: PlaceRule;
  readonly #windowMs: number;

  /** @param windowMs longest latency of a query of low priority. */
  constructor(runs: QueryRuns, rule: PlaceRule, windowMs: number) {
    this.#runs = runs;
    this.#rule = rule;
    this.#windowMs = windowMs;
  }

  /** The last moment at which a query that waits can start and not be too late; Infinity for those of high priority. */
  givenUpAtMs(query: number): number {
    if (this.#runs.isHigh(query)) return Number.POSITIVE_INFINITY;
    const shape = this.#rule.quickestShape(query);
    if (shape === NONE) return Number.POSITIVE_INFINITY;
    return this.#untilMs(query) - this.#runs.timeLeftMs(query, shape);
  }

  /** Whether a query that started now would be done too late, on time for nobody. */
  isFutile(query: number, shape: number, nowMs: number): boolean {
    if (this.#runs.isHigh(query)) return false;
    const endMs = nowMs + this.#runs.timeLeftMs(query, shape);
    return endMs > Math.max(this.#untilMs(query), this.#runs.deadlineMs(query)) + TOLERANCE_MS;
  }

  #untilMs(query: number): number {
    return this.#runs.openedMs(query) + this.#windowMs;
  }
}
