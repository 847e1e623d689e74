/** Keeps a waiting query on time while others pass it. */
import { ForetoldPlaces } from "./foretold-places.ts";
import type { PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/**
 * Places that a waiting query counts on: free ones, and those of running queries that are predicted
 * to end in time. A query may pass only if it leaves at least one shape with which the waiting one
 * is on time, or returns its places by then. Beyond the paper, after the backfilling of EASY, where
 * jobs have one size instead of several.
 */
export class Reservation {
  readonly #table: PipelineTable;
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #places: ForetoldPlaces;
  /** Latest start, for each shape with which it is predicted to be on time. */
  readonly #latestMs: Float64Array;
  /** [shapeCount, classCount]: places that are free by then beyond those of the shape. */
  readonly #spare: Int32Array;
  #shapeCount = 0;

  constructor(table: PipelineTable, ledger: PlaceLedger, runs: QueryRuns, choice: ShapeChoice) {
    this.#table = table;
    this.#runs = runs;
    this.#choice = choice;
    this.#places = new ForetoldPlaces(table, ledger);
    this.#latestMs = new Float64Array(table.shapeCount);
    this.#spare = new Int32Array(table.shapeCount * table.classCount);
  }

  /**
   * Looks ahead for a query that waits.
   * @returns whether it is predicted to be on time if no query passes it.
   */
  open(query: number, nowMs: number): boolean {
    this.#shapeCount = 0;
    this.#foretell(nowMs);
    const deadlineMs = this.#runs.deadlineMs(query) + this.#runs.toleranceMs;
    for (let shape = 0; shape < this.#table.shapeCount; shape++) {
      const latestMs = deadlineMs - this.#runs.timeLeftMs(query, shape);
      if (!(latestMs >= nowMs) || !this.#choice.isUp(shape)) continue;
      if (!this.#count(shape, latestMs)) continue;
      this.#latestMs[this.#shapeCount++] = latestMs;
    }
    return this.#shapeCount > 0;
  }

  /** Whether the query is still on time if another has a shape until a moment. */
  allows(shape: number, endMs: number): boolean {
    for (let index = 0; index < this.#shapeCount; index++) {
      if (endMs <= this.#latestMs[index]! || this.#has(index, shape)) return true;
    }
    return false;
  }

  /** Another has a shape until a moment. */
  take(shape: number, endMs: number): void {
    const { classCount } = this.#table;
    for (let index = this.#shapeCount - 1; index >= 0; index--) {
      if (endMs <= this.#latestMs[index]!) continue;
      if (!this.#has(index, shape)) this.#remove(index);
      else {
        for (let placeClass = 0; placeClass < classCount; placeClass++) {
          const at = index * classCount + placeClass;
          this.#spare[at] = this.#spare[at]! - this.#table.countOf(shape, placeClass);
        }
      }
    }
  }

  #foretell(nowMs: number): void {
    this.#places.reset();
    for (let index = 0; index < this.#runs.activeCount; index++) {
      const query = this.#runs.active(index);
      this.#places.hold(this.#runs.shape(query), this.#runs.finishMs(query, nowMs));
    }
  }

  /**
   * Records the spare places of the next shape at a moment.
   * @returns whether its places are free by then.
   */
  #count(shape: number, latestMs: number): boolean {
    const { classCount } = this.#table;
    for (let placeClass = 0; placeClass < classCount; placeClass++) {
      const free = this.#places.freeBy(placeClass, latestMs);
      const spare = free - this.#table.countOf(shape, placeClass);
      if (spare < 0) return false;
      this.#spare[this.#shapeCount * classCount + placeClass] = spare;
    }
    return true;
  }

  /** Whether the places of a shape are spare at an index. */
  #has(index: number, shape: number): boolean {
    const { classCount } = this.#table;
    for (let placeClass = 0; placeClass < classCount; placeClass++) {
      const spare = this.#spare[index * classCount + placeClass]!;
      if (this.#table.countOf(shape, placeClass) > spare) return false;
    }
    return true;
  }

  /** The last one fills the gap. */
  #remove(index: number): void {
    const { classCount } = this.#table;
    const last = --this.#shapeCount;
    this.#latestMs[index] = this.#latestMs[last]!;
    this.#spare.copyWithin(index * classCount, last * classCount, (last + 1) * classCount);
  }
}
