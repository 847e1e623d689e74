/** Gives up queries whose turn comes too late to be in time. */
import { NONE } from "./pipeline-table.ts";
import type { PlaceRule } from "./place-rule.ts";
import type { QueryRuns } from "./query-runs.ts";

/** How long queries of low priority may take. */
export interface DropWindow {
  readonly sloMs: number;
  /**
   * The window in times the SLO, or in times what a query has until a deadline of its own that is
   * tighter.
   */
  readonly slos: number;
}

/** @param budgetMs what a query has until its deadline when it comes. */
export function windowMs({ sloMs, slos }: DropWindow, budgetMs: number): number {
  return slos * Math.min(sloMs, budgetMs);
}

/**
 * Gives low-priority queries up when their turn comes and they would be too late: the cost of
 * waiting is known by then, not predicted. Beyond the paper.
 */
export class TurnDropout {
  readonly #runs: QueryRuns;
  readonly #rule: PlaceRule;
  readonly #window: DropWindow;

  constructor(runs: QueryRuns, rule: PlaceRule, window: DropWindow) {
    this.#runs = runs;
    this.#rule = rule;
    this.#window = window;
  }

  /**
   * The last moment at which a query that waits can start and not be too late; Infinity for those
   * of high priority.
   */
  givenUpAtMs(query: number): number {
    if (this.#runs.isHigh(query)) return Number.POSITIVE_INFINITY;
    const shape = this.#rule.quickestShape(query);
    if (shape === NONE) return Number.POSITIVE_INFINITY;
    return this.#untilMs(query) - this.#runs.timeLeftMs(query, shape);
  }

  /** Whether a query that started now would be done too late to be of use. */
  isFutile(query: number, shape: number, nowMs: number): boolean {
    if (this.#runs.isHigh(query)) return false;
    const endMs = nowMs + this.#runs.timeLeftMs(query, shape);
    return (
      endMs > Math.max(this.#untilMs(query), this.#runs.deadlineMs(query)) + this.#runs.toleranceMs
    );
  }

  #untilMs(query: number): number {
    const openedMs = this.#runs.openedMs(query);
    return openedMs + windowMs(this.#window, this.#runs.deadlineMs(query) - openedMs);
  }
}
