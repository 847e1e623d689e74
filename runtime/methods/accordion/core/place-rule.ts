/** How a query that waits gets its places: the methods differ in this. */
import { NONE } from "./pipeline-table.ts";

export interface PlaceRule {
  /**
   * Returns the shape in which the first waiting query starts now; NONE if it has to wait. The
   * places of the shape are free once `shrinks` has been carried out.
   */
  shapeFor(query: number, nowMs: number): number;
  /**
   * Returns the free places with which a waiting query may start before the one ahead of it, or
   * NONE.
   */
  passingShape(query: number, nowMs: number): number;
  /** Returns the shape predicted for a new query; NONE if no place is up. */
  foretoldShape(query: number, nowMs: number): number;
  /**
   * Returns the larger shape with which a running query that will be late is on time, or NONE. Its
   * places beyond those of the query are free once `shrinks` has been carried out.
   */
  rescueShape(query: number, nowMs: number): number;
  /** The shape in which a query would be done first, if its places were free. */
  quickestShape(query: number): number;
  /** When a waiting query would start without any other event; Infinity if never. */
  startsAtMs(query: number): number;
  /** Queries that give up places for the shape that was just returned. */
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

  /** Returns the smaller shape of a query; NONE if it is not among them. */
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
