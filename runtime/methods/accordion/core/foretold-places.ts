/** Counts the places that are predicted to be free by a moment. */
import type { PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";

/** Free places, and places held until a moment each, in the current state or a hypothetical one. */
export class ForetoldPlaces {
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  /** Free places per class. */
  readonly #free: Int32Array;
  readonly #shape: Int32Array;
  readonly #untilMs: Float64Array;
  #holderCount = 0;

  constructor(table: PipelineTable, ledger: PlaceLedger) {
    this.#table = table;
    this.#ledger = ledger;
    this.#free = new Int32Array(table.classCount);
    // One more than can run, for a query that might.
    this.#shape = new Int32Array(ledger.placeCount + 1);
    this.#untilMs = new Float64Array(ledger.placeCount + 1);
  }

  /** Resets to what is free now, with no places held. */
  reset(): void {
    this.#holderCount = 0;
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      this.#free[placeClass] = this.#ledger.freeOf(placeClass);
    }
  }

  /** The places of a shape are free now. */
  give(shape: number): void {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      this.#free[placeClass]! += this.#table.countOf(shape, placeClass);
    }
  }

  /** The places of a shape are not free now. */
  take(shape: number): void {
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      this.#free[placeClass]! -= this.#table.countOf(shape, placeClass);
    }
  }

  /** Somebody has the places of a shape, which are not free now, until a moment. */
  hold(shape: number, untilMs: number): void {
    this.#shape[this.#holderCount] = shape;
    this.#untilMs[this.#holderCount++] = untilMs;
  }

  /** How many places of a class are free at a moment. */
  freeBy(placeClass: number, atMs: number): number {
    let free = this.#free[placeClass]!;
    for (let index = 0; index < this.#holderCount; index++) {
      if (this.#untilMs[index]! > atMs) continue;
      free += this.#table.countOf(this.#shape[index]!, placeClass);
    }
    return free;
  }
}
