/**
 * The states that the fast server is solved in: a row for a number of waiting queries, a column for
 * the age of the first; only pairs in a band around the expected queue of an age.
 */
import { rowByQueued } from "stratagem-runtime/internal/core/table-lookup";
import type { PooledProblem } from "./pooled-problem.ts";

/**
 * Widest step of the grid of ages, relative to the SLO; values between are interpolated, so it may
 * be coarser than the table's.
 */
const WIDEST_STEP = 1 / 50;
/** Narrowest step, in mean gaps between arrivals (or between steps of the solution). */
const NARROWEST_STEP = 1.5;
/** Growth factor of the steps. */
const STEP_GROWTH = 1.25;
/** Even parts of the SLO, which index the column of an age. */
const AGE_PARTS = 1024;
/** Standard deviations around the expected queue of an age within which states are solved. */
const BAND_BELOW = 4;
const BAND_ABOVE = 7;

interface StateGridOptions {
  readonly problem: PooledProblem;
  /** Maximum batches that are started in one step. */
  readonly batchesPerStep: number;
  readonly maxBatch: number;
}

/** Values are kept column by column, `stride` rows each; `locate` leaves its result in fields. */
export class StateGrid {
  /** Number of waiting queries by row, ascending. */
  readonly rows: Float64Array;
  /** The last row that has no more queries than these. */
  readonly rowByQueued: Uint16Array;
  /** Rows and one of padding. */
  readonly stride: number;
  /** Ages of the columns, ascending from 0 to the SLO. */
  readonly ageMs: Float64Array;
  /** First and last row of the band, by column. */
  readonly lowRow: Int32Array;
  readonly highRow: Int32Array;
  /** Row and column of each state. */
  readonly stateRow: Int32Array;
  readonly stateColumn: Int32Array;
  /** The state by column and row, −1 outside the band. */
  readonly stateAt: Int32Array;
  /** Number of grid values of a function of queue and age, including a last one of padding. */
  readonly entryCount: number;
  // Position of the last located queue and age between columns.
  column = 0;
  far = 0;
  nearQueued = 0;
  farQueued = 0;
  readonly #ratePerMs: number;
  /** The column at the start of each part of the SLO. */
  readonly #columnByPart: Uint16Array;
  readonly #partsPerMs: number;

  constructor({ problem, batchesPerStep, maxBatch }: StateGridOptions) {
    const { sloMs, rows, arrivalsPerMs } = problem;
    this.#ratePerMs = arrivalsPerMs;
    this.rows = Float64Array.from(rows);
    this.rowByQueued = rowByQueued(rows);
    this.stride = rows.length + 1;
    this.ageMs = ageGrid(sloMs, (NARROWEST_STEP * batchesPerStep) / arrivalsPerMs);
    this.#partsPerMs = AGE_PARTS / sloMs;
    this.#columnByPart = new Uint16Array(AGE_PARTS + 1);
    for (let part = 0, column = 0; part <= AGE_PARTS; part++) {
      const startMs = part / this.#partsPerMs;
      while (column + 2 < this.ageMs.length && this.ageMs[column + 1]! <= startMs) column++;
      this.#columnByPart[part] = column;
    }
    this.entryCount = this.stride * this.ageMs.length + 1;
    this.lowRow = new Int32Array(this.ageMs.length);
    this.highRow = new Int32Array(this.ageMs.length);
    const states = this.#band(problem, maxBatch);
    this.stateRow = Int32Array.from(states, ([row = 0]) => row);
    this.stateColumn = Int32Array.from(states, ([, column = 0]) => column);
    this.stateAt = new Int32Array(this.entryCount).fill(-1);
    states.forEach((_, state) => {
      this.stateAt[this.entryOfState(state)] = state;
    });
  }

  get stateCount(): number {
    return this.stateRow.length;
  }

  /** The states that are likely enough to matter: n − 1 is about Poisson with mean λA. */
  #band({ capacity, dispersion }: PooledProblem, maxBatch: number): number[][] {
    const states: number[][] = [];
    for (let column = this.ageMs.length - 1; column >= 0; column--) {
      const mean = 1 + this.#ratePerMs * this.ageMs[column]!;
      const deviation = Math.sqrt(dispersion * mean);
      const low = Math.max(1, Math.floor(mean - BAND_BELOW * deviation - 2));
      const high = Math.min(capacity, Math.ceil(mean + BAND_ABOVE * deviation + maxBatch));
      this.lowRow[column] = this.rowByQueued[low]!;
      this.highRow[column] = this.rowByQueued[high]!;
      for (let row = this.rowByQueued[high]!; row >= this.lowRow[column]!; row--) {
        states.push([row, column]);
      }
    }
    return states;
  }

  /**
   * Between two columns values are taken along the line on which the queue grows as arrivals come:
   * (n, A) lies between (n − λa, A − a) and (n + λb, A + b).
   */
  locate(queued: number, ageMs: number): void {
    const ages = this.ageMs;
    let column = this.#columnByPart[(ageMs * this.#partsPerMs) | 0]!;
    while (column + 2 < ages.length && ages[column + 1]! <= ageMs) column++;
    while (column > 0 && ages[column]! > ageMs) column--;
    const beyondMs = ageMs - ages[column]!;
    const far = beyondMs / (ages[column + 1]! - ages[column]!);
    const near = Math.max(1, queued - this.#ratePerMs * beyondMs);
    this.column = column;
    this.far = far;
    this.nearQueued = near;
    this.farQueued = far > 0 ? (queued - (1 - far) * near) / far : queued;
  }

  /** Queries by which a row is below the band. */
  missing(row: number, column: number): number {
    return Math.max(0, this.rows[this.lowRow[column]!]! - this.rows[row]!);
  }

  /** Index of a state's value; beyond the band that of its edge. */
  entryOf(row: number, column: number): number {
    const inBand = Math.min(this.highRow[column]!, Math.max(this.lowRow[column]!, row));
    return column * this.stride + inBand;
  }

  entryOfState(state: number): number {
    return this.stateColumn[state]! * this.stride + this.stateRow[state]!;
  }
}

/**
 * From 0 to the SLO, in steps that grow from `narrowMs` on: the age of the first query matters most
 * in short queues.
 */
function ageGrid(sloMs: number, narrowMs: number): Float64Array {
  const ages = [0];
  let stepMs = Math.min(narrowMs, sloMs * WIDEST_STEP);
  let ageMs = stepMs;
  while (ageMs + stepMs / 2 < sloMs) {
    ages.push(ageMs);
    stepMs = Math.min(stepMs * STEP_GROWTH, sloMs * WIDEST_STEP);
    ageMs += stepMs;
  }
  ages.push(sloMs);
  return Float64Array.from(ages);
}
