/** Grows a sparse matrix row by row. */
import { NEGLIGIBLE } from "./arrival-counts.ts";

/** Rows of probabilities over states, as CSR. */
export interface SparseRows {
  readonly rowCount: number;
  /** Shape (rowCount + 1,). */
  readonly start: Uint32Array;
  /** State indices, see `stateIndex`. */
  readonly column: Uint32Array;
  readonly probability: Float64Array;
}

/** Grows a CSR matrix row by row. A row may be added up from several distributions. */
export class RowBuilder {
  entryCount = 0;
  private readonly start = [0];
  private column = new Uint32Array(1 << 16);
  private probability = new Float64Array(1 << 16);
  /** Entries of the open row by state, and their states; only for a mixture. */
  private readonly mixed: Float64Array;
  private readonly touched: number[] = [];
  private share = 1;

  constructor(stateCount: number) {
    this.mixed = new Float64Array(stateCount);
  }

  get rowCount(): number {
    return this.start.length - 1;
  }

  /** Weights all following entries by this share; entries of the same state are added up. */
  mix(share: number): void {
    this.share = share;
  }

  add(column: number, probability: number): void {
    if (probability < NEGLIGIBLE) return;
    if (this.share === 1) this.append(column, probability);
    else {
      if (this.mixed[column] === 0) this.touched.push(column);
      this.mixed[column] = (this.mixed[column] ?? 0) + this.share * probability;
    }
  }

  endRow(): void {
    for (const column of this.touched) {
      this.append(column, this.mixed[column] ?? 0);
      this.mixed[column] = 0;
    }
    this.touched.length = 0;
    this.share = 1;
    this.start.push(this.entryCount);
  }

  columnsFrom(entry: number): Uint32Array {
    return this.column.subarray(entry, this.entryCount);
  }

  finish(): SparseRows {
    return {
      rowCount: this.rowCount,
      start: Uint32Array.from(this.start),
      column: this.column.slice(0, this.entryCount),
      probability: this.probability.slice(0, this.entryCount),
    };
  }

  private append(column: number, probability: number): void {
    if (this.entryCount === this.column.length) this.grow();
    this.column[this.entryCount] = column;
    this.probability[this.entryCount++] = probability;
  }

  private grow(): void {
    const column = new Uint32Array(this.column.length * 2);
    const probability = new Float64Array(column.length);
    column.set(this.column);
    probability.set(this.probability);
    this.column = column;
    this.probability = probability;
  }
}

/** The rows of one matrix, then those of the other. */
export function stackRows(upper: SparseRows, lower: SparseRows): SparseRows {
  if (lower.rowCount === 0) return upper;
  const upperEntries = upper.column.length;
  const start = new Uint32Array(upper.rowCount + lower.rowCount + 1);
  start.set(upper.start);
  lower.start.forEach((entry, row) => {
    start[upper.rowCount + row] = upperEntries + entry;
  });
  const column = new Uint32Array(upperEntries + lower.column.length);
  column.set(upper.column);
  column.set(lower.column, upperEntries);
  const probability = new Float64Array(column.length);
  probability.set(upper.probability);
  probability.set(lower.probability, upperEntries);
  return { rowCount: upper.rowCount + lower.rowCount, start, column, probability };
}
