/** Places queries for good: the baselines of Accordion §4.2. */
import { NONE } from "./pipeline-table.ts";
import { type PlaceRule, Shrinks } from "./place-rule.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/**
 * A depth that depends on the query alone: the fewest places that meet the SLO, the fastest, or
 * one.
 */
type FixedDepth = "slo-conforming" | "fastest" | "one-stage";

/**
 * Baselines: a query waits until the places it is due are free, or as many of other pools that do,
 * and keeps them. Source: Accordion §4.2.
 */
export class FixedRule implements PlaceRule {
  readonly shrinks = new Shrinks();
  readonly #depth: FixedDepth;
  readonly #sloMs: number;
  readonly #choice: ShapeChoice;

  constructor(depth: FixedDepth, sloMs: number, choice: ShapeChoice) {
    this.#depth = depth;
    this.#sloMs = sloMs;
    this.#choice = choice;
  }

  shapeFor(query: number): number {
    const shape = this.foretoldShape(query);
    if (shape === NONE || this.#choice.isFree(shape)) return shape;
    if (this.#depth === "fastest") return NONE;
    const longestMs = this.#depth === "one-stage" ? Number.POSITIVE_INFINITY : this.#sloMs;
    return this.#choice.freeAs(query, shape, longestMs);
  }

  /** Uses the whole SLO, not what waiting has left of it. */
  foretoldShape(query: number): number {
    if (this.#depth === "one-stage") return this.#choice.single(query);
    if (this.#depth === "fastest") return this.#choice.fastest(query);
    const least = this.#choice.least(query, this.#sloMs);
    return least === NONE ? this.#choice.fastest(query) : least;
  }

  passingShape(): number {
    return NONE;
  }

  rescueShape(): number {
    return NONE;
  }

  quickestShape(query: number): number {
    return this.foretoldShape(query);
  }

  startsAtMs(): number {
    return Number.POSITIVE_INFINITY;
  }
}
