/** How a query that waits gets its places: the methods differ in this. */
import { NONE } from "./pipeline-table.ts";

export interface PlaceRule {
  /**
   * The shape in which the first query that waits starts now, NONE if it has to wait. The places of
   * the shape are free once what `shrinks` says has been done.
   */
  shapeFor(query: number, nowMs: number): number;
  /**
   * The free places with which a query that waits behind another may start before it, NONE if it
   * may not.
   */
  passingShape(query: number, nowMs: number): number;
  /** The shape that a query is foretold to have when it comes, NONE if no place is up. */
  foretoldShape(query: number, nowMs: number): number;
  /**
   * The larger shape with which a running query that will be late is on time, NONE if there is
   * none. Its places beyond those of the query are free once what `shrinks` says has been done.
   */
  rescueShape(query: number, nowMs: number): number;
  /** The shape in which a query would be done first, if its places were free. */
  quickestShape(query: number): number;
  /**
   * When a query that has to wait would start all the same, without anything else happening;
   * Infinity if never.
   */
  startsAtMs(query: number): number;
  /** Queries that have to give up places for the shape that was just named. */
  readonly shrinks: Shrinks;
}

/** Running queries, and the smaller shapes that they are to have. */
export class Shrinks {
  readonly #queries: number[] = [];
  readonly #shapes: number[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  query(index: number): number {
    return this.#queries[index]!;
  }

  shape(index: number): number {
    return this.#shapes[index]!;
  }

  /** The smaller shape of a query, NONE if it is not among them. */
  shapeOf(query: number): number {
    for (let index = 0; index < this.#count; index++) {
      if (this.#queries[index] === query) return this.#shapes[index]!;
    }
    return NONE;
  }

  clear(): void {
    this.#count = 0;
  }

  add(query: number, shape: number): void {
    this.#queries[this.#count] = query;
    this.#shapes[this.#count++] = shape;
  }
}
