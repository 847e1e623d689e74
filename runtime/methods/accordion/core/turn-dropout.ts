/** Gives up queries whose turn comes too late for their deadline. */
import { NONE } from "./pipeline-table.ts";
import type { PlaceRule } from "./place-rule.ts";
import type { QueryRuns } from "./query-runs.ts";

/** How long queries of low priority may take. */
export interface DropWindow {
  readonly sloMs: number;
  /**
   * Window as a multiple of the SLO, or of the time until a tighter deadline of the query's own.
   */
  readonly slos: number;
}

/** @param budgetMs time until the query's deadline when it arrives. */
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
   * Last moment at which a waiting query can start without being too late; Infinity for high
   * priority.
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
