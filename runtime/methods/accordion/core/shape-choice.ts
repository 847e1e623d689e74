/** Chooses the best shape for the rest of a query. */
import { NONE, type PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import type { QueryRuns } from "./query-runs.ts";

/**
 * Which shape would be best for what is left of a query, among those that the places allow. Ties go
 * to the fewest places.
 */
export class ShapeChoice {
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  readonly #runs: QueryRuns;

  constructor(table: PipelineTable, ledger: PlaceLedger, runs: QueryRuns) {
    this.#table = table;
    this.#ledger = ledger;
    this.#runs = runs;
  }

  /**
   * Returns the shape with the fewest places that takes no longer than the budget, or NONE; ties go
   * to the fastest.
   * @param mostPlaces to consider.
   */
  least(query: number, budgetMs: number, mostPlaces = this.#table.maxDepth): number {
    const table = this.#table;
    const shapeCount = table.shapesUpTo(mostPlaces);
    let least = NONE;
    let leastMs = Number.POSITIVE_INFINITY;
    for (let shape = 0; shape < shapeCount; shape++) {
      if (least !== NONE && table.sizeOf(shape) > table.sizeOf(least)) break;
      const ms = this.#runs.timeLeftMs(query, shape);
      if (ms > budgetMs || ms >= leastMs || !this.isUp(shape)) continue;
      least = shape;
      leastMs = ms;
    }
    return least;
  }

  /**
   * Returns the shape in which the query takes the least time; NONE if no place that can run it is
   * up.
   */
  fastest(query: number): number {
    const table = this.#table;
    let fastest = NONE;
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let shape = 0; shape < table.shapeCount; shape++) {
      const ms = this.#runs.timeLeftMs(query, shape);
      if (ms >= fastestMs || !this.isUp(shape)) continue;
      fastest = shape;
      fastestMs = ms;
    }
    return fastest;
  }

  /** Returns the fastest shape among places that are free. */
  fastestFree(query: number): number {
    const shapeCount = this.#table.shapesUpTo(this.#ledger.freeCount);
    let fastest = NONE;
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let shape = 0; shape < shapeCount; shape++) {
      const ms = this.#runs.timeLeftFreeMs(query, shape);
      if (ms >= fastestMs || !this.isFree(shape)) continue;
      fastest = shape;
      fastestMs = ms;
    }
    return fastest;
  }

  /**
   * Returns the fastest of the free shapes with as many places as another that take no longer than
   * the budget, or NONE.
   */
  freeAs(query: number, shape: number, budgetMs: number): number {
    const table = this.#table;
    const size = table.sizeOf(shape);
    let fastest = NONE;
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let one = table.shapesUpTo(size - 1); one < table.shapesUpTo(size); one++) {
      const ms = this.#runs.timeLeftFreeMs(query, one);
      if (ms > budgetMs || ms >= fastestMs || !this.isFree(one)) continue;
      fastest = one;
      fastestMs = ms;
    }
    return fastest;
  }

  /** The one place that runs the query in the least time, free or not. */
  single(query: number): number {
    const table = this.#table;
    let single = NONE;
    let singleMs = Number.POSITIVE_INFINITY;
    for (let shape = 0; shape < table.shapeCount && table.sizeOf(shape) === 1; shape++) {
      const ms = this.#runs.timeLeftMs(query, shape);
      if (ms >= singleMs || !this.isUp(shape)) continue;
      single = shape;
      singleMs = ms;
    }
    return single;
  }

  /** Whether the places of a shape are up, free or not. */
  isUp(shape: number): boolean {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      if (this.#table.countOf(shape, placeClass) > this.#ledger.readyOf(placeClass)) return false;
    }
    return true;
  }

  isFree(shape: number): boolean {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      if (this.#table.countOf(shape, placeClass) > this.#ledger.freeOf(placeClass)) return false;
    }
    return true;
  }

  /**
   * Returns the first shape with too many places for a query that has those of another and could
   * have all free ones.
   */
  endOfLarger(shape: number): number {
    return this.#table.shapesUpTo(this.#table.sizeOf(shape) + this.#ledger.freeCount);
  }

  /** Whether a shape has at least as many places of each class as another. */
  isBeyond(larger: number, shape: number): boolean {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      const more = this.#table.countOf(larger, placeClass) - this.#table.countOf(shape, placeClass);
      if (more < 0) return false;
    }
    return true;
  }

  /** Whether a query with the places of a shape could have those of a larger one too. */
  isFreeBeyond(larger: number, shape: number): boolean {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      const more = this.#table.countOf(larger, placeClass) - this.#table.countOf(shape, placeClass);
      if (more < 0 || more > this.#ledger.freeOf(placeClass)) return false;
    }
    return true;
  }
}
