/** Predicts when a new query would be done, and gives up those too late. */
import type { PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import type { QueryRuns } from "./query-runs.ts";
import { type DropWindow, windowMs } from "./turn-dropout.ts";

/**
 * Predicts when a new query would be done: when enough places have finished the queries before it,
 * plus its own time. Low-priority queries that would be too late are given up. Source: Accordion
 * §3.2, Algorithm 1.
 */
export class DropoutPredictor {
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  readonly #runs: QueryRuns;
  readonly #window: DropWindow;
  /**
   * When each place has finished its running and waiting queries; undefined for places that are
   * down.
   */
  readonly #finishMs: Float64Array;
  /** The earliest places of the class at hand. */
  readonly #earliest: Int32Array;
  /** Places of all classes, for the query at hand. */
  readonly #chosen: Int32Array;

  constructor(table: PipelineTable, ledger: PlaceLedger, runs: QueryRuns, window: DropWindow) {
    this.#table = table;
    this.#ledger = ledger;
    this.#runs = runs;
    this.#window = window;
    this.#finishMs = new Float64Array(ledger.placeCount);
    this.#earliest = new Int32Array(table.maxDepth);
    this.#chosen = new Int32Array(table.maxDepth);
  }

  /** Starts again from the running queries: none waits. */
  resume(nowMs: number): void {
    this.#finishMs.fill(nowMs);
    for (let index = 0; index < this.#runs.activeCount; index++) {
      const query = this.#runs.active(index);
      const finishMs = this.#runs.finishMs(query, nowMs);
      const size = this.#table.sizeOf(this.#runs.shape(query));
      for (let stage = 0; stage < size; stage++) {
        this.#finishMs[this.#runs.place(query, stage)] = finishMs;
      }
    }
  }

  /**
   * Accounts for a new query.
   * @param shape predicted for it. @returns whether it is accepted.
   */
  admits(query: number, shape: number, nowMs: number): boolean {
    let waitMs = 0;
    let chosen = 0;
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      const count = this.#table.countOf(shape, placeClass);
      if (count === 0) continue;
      this.#findEarliest(placeClass, count);
      for (let index = 0; index < count; index++) {
        const place = this.#earliest[index]!;
        this.#chosen[chosen++] = place;
        waitMs = Math.max(waitMs, this.#finishMs[place]! - nowMs);
      }
    }
    const latencyMs = waitMs + this.#runs.timeLeftMs(query, shape);
    const longestMs = windowMs(this.#window, this.#runs.deadlineMs(query) - nowMs);
    const isTooLate = latencyMs > longestMs + this.#runs.toleranceMs;
    if (isTooLate && !this.#runs.isHigh(query)) return false;
    for (let index = 0; index < chosen; index++) {
      this.#finishMs[this.#chosen[index]!] = nowMs + latencyMs;
    }
    return true;
  }

  /** Finds the `count` places of a class that are up and done first. */
  #findEarliest(placeClass: number, count: number): void {
    const { classOfPlace, placeCount } = this.#ledger;
    let found = 0;
    for (let place = 0; place < placeCount; place++) {
      if (classOfPlace[place] !== placeClass || !this.#ledger.isUp(place)) continue;
      const finishMs = this.#finishMs[place]!;
      let at = found;
      if (found === count) {
        at--;
        if (finishMs >= this.#finishMs[this.#earliest[at]!]!) continue;
      } else found++;
      for (; at > 0 && this.#finishMs[this.#earliest[at - 1]!]! > finishMs; at--) {
        this.#earliest[at] = this.#earliest[at - 1]!;
      }
      this.#earliest[at] = place;
    }
  }
}
