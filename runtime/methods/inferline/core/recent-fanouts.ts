/** Measures how many queries fan-outs make of a request, of the last 30 beats. */
import type { InferlineBundle, StagePlan } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { taskGraphOf } from "../../../core/graph/task-graph.ts";
import { RATE_WINDOW } from "./recent-rates.ts";

/** Windows that are remembered: 30 beats. */
const WINDOW_COUNT = 6;
/**
 * Standard deviations by which queries must exceed the plan's count, assuming that each request has
 * either all of its queries or none.
 */
const SIGMAS = 3;

/**
 * Ratio of queries per request behind each fan-out to the plan's count, in tumbling windows of five
 * beats. The first window begins with the first call of `advance`.
 */
export class RecentFanouts {
  /**
   * Factors relative to the plan's count of queries, [taskCount]; 1 without a fan-out, while
   * unknown, if the difference may be chance, and if there are fewer: they may still wait in an
   * earlier task.
   */
  readonly factors: Float64Array;
  /** Whether the pipeline has a fan-out. */
  readonly isUsed: boolean;
  readonly #isMade: readonly boolean[];
  /** [WINDOW_COUNT, taskCount + 1], requests last. */
  readonly #windows: Float64Array;
  readonly #columns: number;
  readonly #windowMs: number;
  #window = 0;
  #endMs = Number.POSITIVE_INFINITY;

  constructor(bundle: InferlineBundle) {
    const { scopes, scopeByTask } = taskGraphOf(bundle);
    this.#windowMs = RATE_WINDOW * beatMsOf(bundle.slo);
    this.isUsed = scopes.length > 1;
    this.#isMade = Array.from(scopeByTask, (scope) => scope > 0);
    this.#columns = bundle.tasks.length + 1;
    this.#windows = new Float64Array(WINDOW_COUNT * this.#columns);
    this.factors = new Float64Array(bundle.tasks.length).fill(1);
  }

  recordRequest(): void {
    this.#windows[this.#window * this.#columns + this.#columns - 1]!++;
  }

  recordQuery(task: number): void {
    this.#windows[this.#window * this.#columns + task]!++;
  }

  /** Closes the windows that are over. @returns whether a factor has changed. */
  advance(nowMs: number, stages: readonly StagePlan[]): boolean {
    if (!this.isUsed) return false;
    if (this.#endMs === Number.POSITIVE_INFINITY) this.#endMs = nowMs + this.#windowMs;
    if (nowMs < this.#endMs) return false;
    const over = 1 + Math.floor((nowMs - this.#endMs) / this.#windowMs);
    this.#endMs += over * this.#windowMs;
    const isChanged = this.#measure(stages);
    for (let window = 0; window < Math.min(over, WINDOW_COUNT); window++) {
      this.#window = (this.#window + 1) % WINDOW_COUNT;
      const first = this.#window * this.#columns;
      this.#windows.fill(0, first, first + this.#columns);
    }
    return isChanged;
  }

  #measure(stages: readonly StagePlan[]): boolean {
    const requests = this.#sumOf(this.#columns - 1);
    let isChanged = false;
    for (let task = 0; task < this.factors.length; task++) {
      if (!this.#isMade[task]) continue;
      const { scaleFactor } = stages[task]!;
      const expected = requests * scaleFactor;
      const found = this.#sumOf(task);
      const isChance = found - expected <= SIGMAS * Math.sqrt(expected * Math.max(1, scaleFactor));
      const factor = expected === 0 || isChance ? 1 : found / expected;
      if (factor === this.factors[task]) continue;
      this.factors[task] = factor;
      isChanged = true;
    }
    return isChanged;
  }

  #sumOf(column: number): number {
    let sum = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      sum += this.#windows[window * this.#columns + column]!;
    }
    return sum;
  }
}
