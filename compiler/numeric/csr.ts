/** Sparse products over compressed rows: row r holds entries start[r] … start[r + 1] − 1. */

/**
 * y = A x.
 * @param start (rowCount + 1,).
 * @param column, value (entryCount,).
 * @param y (rowCount,), overwritten.
 */
export function multiplyRows(
  rowCount: number,
  start: Uint32Array,
  column: Uint32Array,
  value: Float64Array,
  x: Float64Array,
  y: Float64Array,
): void {
  let entry = 0;
  for (let row = 0; row < rowCount; row++) {
    const end = start[row + 1]!;
    // Two accumulators, so that one addition need not wait for the other.
    let even = 0;
    let odd = 0;
    for (; entry + 1 < end; entry += 2) {
      even += value[entry]! * x[column[entry]!]!;
      odd += value[entry + 1]! * x[column[entry + 1]!]!;
    }
    if (entry < end) even += value[entry]! * x[column[entry++]!]!;
    y[row] = even + odd;
  }
}

/**
 * x = Aᵀ y: scatters row masses onto columns, skipping rows without mass.
 * @param x (columnCount,), overwritten.
 */
export function multiplyColumns(
  rowCount: number,
  start: Uint32Array,
  column: Uint32Array,
  value: Float64Array,
  y: Float64Array,
  x: Float64Array,
): void {
  x.fill(0);
  for (let row = 0; row < rowCount; row++) {
    const mass = y[row]!;
    if (mass === 0) continue;
    const end = start[row + 1]!;
    for (let entry = start[row]!; entry < end; entry++) {
      x[column[entry]!] = x[column[entry]!]! + value[entry]! * mass;
    }
  }
}
