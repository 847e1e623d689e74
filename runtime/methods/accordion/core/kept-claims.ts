/** Finds, claim by claim, whether it is kept beside those before it. */
import type { ForetoldPlaces } from "./foretold-places.ts";
import type { PipelineTable } from "./pipeline-table.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/**
 * There is no claim on a shape on which a query takes up more than so many times the time of one
 * place, for what is waste there is taken from many others. No depth of the paper's models comes to
 * that; what does are queries of few instances, which pipelines make hardly faster.
 */
const MOST_COST = 2.5;

interface KeptClaimsOptions {
  readonly reconfigurationMs: number;
  readonly placeCount: number;
}

/**
 * Claims that are kept together: each has a shape, a last moment at which that helps, and the
 * places that it then has to get beside its own, which nobody before it needs.
 */
export class KeptClaims {
  readonly #table: PipelineTable;
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #places: ForetoldPlaces;
  readonly #reconfigurationMs: number;
  readonly #byMs: Float64Array;
  /** [count, classCount]: places that are needed by then, and what is spare beside these. */
  readonly #need: Int32Array;
  readonly #spare: Int32Array;
  #count = 0;

  constructor(
    table: PipelineTable,
    runs: QueryRuns,
    choice: ShapeChoice,
    places: ForetoldPlaces,
    { reconfigurationMs, placeCount }: KeptClaimsOptions,
  ) {
    this.#table = table;
    this.#runs = runs;
    this.#choice = choice;
    this.#places = places;
    this.#reconfigurationMs = reconfigurationMs;
    this.#byMs = new Float64Array(placeCount);
    this.#need = new Int32Array(placeCount * table.classCount);
    this.#spare = new Int32Array(placeCount * table.classCount);
  }

  clear(): void {
    this.#count = 0;
  }

  /**
   * Keeps the claim of a running query, on the first shape for which there are places.
   * @returns whether there is one.
   */
  add(query: number, nowMs: number): boolean {
    const own = this.#runs.shape(query);
    const deadlineMs = this.#runs.deadlineMs(query) + this.#runs.toleranceMs;
    const mostMs = MOST_COST * this.#runs.timeLeftMs(query, 0);
    for (let shape = own + 1; shape < this.#table.shapeCount; shape++) {
      const leftMs = this.#runs.timeLeftMs(query, shape);
      const byMs = deadlineMs - this.#reconfigurationMs - leftMs;
      if (!(byMs >= nowMs) || this.#table.sizeOf(shape) * leftMs > mostMs) continue;
      if (!this.#choice.isBeyond(shape, own) || !this.#choice.isUp(shape)) continue;
      if (!this.#fits(shape, own, byMs)) continue;
      this.#enter(byMs);
      return true;
    }
    return false;
  }

  /** Whether the places are there by a moment, beside those of other claims; noted at the end. */
  #fits(shape: number, own: number, byMs: number): boolean {
    const { classCount } = this.#table;
    for (let placeClass = 0; placeClass < classCount; placeClass++) {
      const need = this.#table.countOf(shape, placeClass) - this.#table.countOf(own, placeClass);
      let spare = this.#places.freeBy(placeClass, byMs) - need;
      for (let index = 0; index < this.#count; index++) {
        const at = index * classCount + placeClass;
        if (this.#byMs[index]! <= byMs) spare -= this.#need[at]!;
        if (this.#byMs[index]! >= byMs && this.#spare[at]! < need) return false;
      }
      if (spare < 0) return false;
      this.#need[this.#count * classCount + placeClass] = need;
      this.#spare[this.#count * classCount + placeClass] = spare;
    }
    return true;
  }

  /** What others have to spare then or later is less by what the one at the end needs. */
  #enter(byMs: number): void {
    const { classCount } = this.#table;
    for (let index = 0; index < this.#count; index++) {
      if (this.#byMs[index]! < byMs) continue;
      for (let placeClass = 0; placeClass < classCount; placeClass++) {
        const need = this.#need[this.#count * classCount + placeClass]!;
        this.#spare[index * classCount + placeClass]! -= need;
      }
    }
    this.#byMs[this.#count++] = byMs;
  }
}
