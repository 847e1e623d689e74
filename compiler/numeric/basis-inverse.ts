/**
 * Kernels of a revised primal simplex with an explicit dense inverse, for bases of a few dozen
 * rows, and of pricing sparse columns.
 *
 * The inverse is row-major, shape (rowCount, rowCount): its row i belongs to the i-th basic
 * variable.
 */

/** Smaller pivots are refused: they would multiply rounding errors. */
const MIN_PIVOT = 1e-9;

/**
 * Simplex multipliers: cost of the basis times the inverse.
 * @param multipliers shape (rowCount,), overwritten.
 */
export function simplexMultipliers(
  rowCount: number,
  inverse: Float64Array,
  basicCost: Float64Array,
  multipliers: Float64Array,
): void {
  multipliers.fill(0, 0, rowCount);
  for (let row = 0; row < rowCount; row++) {
    const cost = basicCost[row]!;
    if (cost === 0) continue;
    const start = row * rowCount;
    for (let column = 0; column < rowCount; column++) {
      multipliers[column]! += cost * inverse[start + column]!;
    }
  }
}

/**
 * The inverse times a column.
 * @param product shape (rowCount,), overwritten.
 */
export function timesInverse(
  rowCount: number,
  inverse: Float64Array,
  column: Float64Array,
  product: Float64Array,
): void {
  for (let row = 0; row < rowCount; row++) {
    const start = row * rowCount;
    let sum = 0;
    for (let index = 0; index < rowCount; index++) sum += inverse[start + index]! * column[index]!;
    product[row] = sum;
  }
}

/**
 * Row that leaves the basis when a variable enters along `direction`; ties to the larger pivot,
 * then to the lower row. A basic variable marked in `fixedAtZero` leaves at once, whichever way it
 * would move.
 * @returns -1 if nothing bounds the step.
 */
export function leavingRow(
  rowCount: number,
  values: Float64Array,
  direction: Float64Array,
  fixedAtZero: Uint8Array,
): number {
  let leaving = -1;
  let least = Number.POSITIVE_INFINITY;
  let pivot = 0;
  for (let row = 0; row < rowCount; row++) {
    const step = direction[row]!;
    const isFixed = fixedAtZero[row] === 1 && Math.abs(step) > 1e-7;
    if (step <= MIN_PIVOT && !isFixed) continue;
    const ratio = isFixed ? 0 : Math.max(0, values[row]!) / step;
    const size = Math.abs(step);
    if (ratio < least - 1e-12 || (ratio <= least + 1e-12 && size > pivot)) {
      leaving = row;
      least = Math.min(least, ratio);
      pivot = size;
    }
  }
  return leaving;
}

/**
 * Exchanges the basic variable of `leaving` for the one whose direction is given. Inverse and
 * values are updated in place.
 * @returns the step.
 */
export function exchange(
  rowCount: number,
  inverse: Float64Array,
  values: Float64Array,
  direction: Float64Array,
  leaving: number,
): number {
  const pivot = direction[leaving]!;
  const start = leaving * rowCount;
  for (let index = 0; index < rowCount; index++) inverse[start + index]! /= pivot;
  const step = values[leaving]! / pivot;
  for (let row = 0; row < rowCount; row++) {
    if (row === leaving) continue;
    const factor = direction[row]!;
    if (factor === 0) continue;
    const to = row * rowCount;
    for (let index = 0; index < rowCount; index++) {
      inverse[to + index]! -= factor * inverse[start + index]!;
    }
    values[row]! -= factor * step;
  }
  values[leaving] = step;
  return step;
}

/**
 * Inverts a matrix by Gauss-Jordan elimination with row exchanges.
 * @param matrix row-major, destroyed.
 * @param inverse overwritten.
 * @returns whether it is regular.
 */
export function invert(rowCount: number, matrix: Float64Array, inverse: Float64Array): boolean {
  inverse.fill(0, 0, rowCount * rowCount);
  for (let row = 0; row < rowCount; row++) inverse[row * rowCount + row] = 1;
  for (let column = 0; column < rowCount; column++) {
    let best = column;
    for (let row = column + 1; row < rowCount; row++) {
      const size = Math.abs(matrix[row * rowCount + column]!);
      if (size > Math.abs(matrix[best * rowCount + column]!)) best = row;
    }
    const pivot = matrix[best * rowCount + column]!;
    if (Math.abs(pivot) < 1e-12) return false;
    swapRows(rowCount, matrix, best, column);
    swapRows(rowCount, inverse, best, column);
    scaleRow(rowCount, matrix, column, 1 / pivot);
    scaleRow(rowCount, inverse, column, 1 / pivot);
    for (let row = 0; row < rowCount; row++) {
      const factor = matrix[row * rowCount + column]!;
      if (row === column || factor === 0) continue;
      subtractRow(rowCount, matrix, row, column, factor);
      subtractRow(rowCount, inverse, row, column, factor);
    }
  }
  return true;
}

function swapRows(rowCount: number, matrix: Float64Array, one: number, other: number): void {
  if (one === other) return;
  for (let index = 0; index < rowCount; index++) {
    const held = matrix[one * rowCount + index]!;
    matrix[one * rowCount + index] = matrix[other * rowCount + index]!;
    matrix[other * rowCount + index] = held;
  }
}

function scaleRow(rowCount: number, matrix: Float64Array, row: number, factor: number): void {
  for (let index = 0; index < rowCount; index++) matrix[row * rowCount + index]! *= factor;
}

function subtractRow(
  rowCount: number,
  matrix: Float64Array,
  from: number,
  what: number,
  factor: number,
): void {
  for (let index = 0; index < rowCount; index++) {
    matrix[from * rowCount + index]! -= factor * matrix[what * rowCount + index]!;
  }
}

/**
 * Column of the highest reduced cost: value times `valueScale`, less the use of each slot times its
 * price, less the multiplier of its group.
 *
 * Columns are `active[0..activeCount)`, sparse in compressed form: start[column], slot[entry],
 * use[entry]. Ties to the first.
 * @returns its index in `active`, or -1 if none is above `floor`.
 */
export function bestColumn(
  activeCount: number,
  active: Uint32Array,
  start: Uint32Array,
  slot: Uint32Array,
  use: Float64Array,
  value: Float64Array,
  group: Uint32Array,
  slotPrice: Float64Array,
  groupMultiplier: Float64Array,
  valueScale: number,
  floor: number,
): number {
  let best = -1;
  let highest = floor;
  for (let place = 0; place < activeCount; place++) {
    const column = active[place]!;
    let cost = valueScale * value[column]! - groupMultiplier[group[column]!]!;
    const end = start[column + 1]!;
    for (let entry = start[column]!; entry < end; entry++) {
      cost -= use[entry]! * slotPrice[slot[entry]!]!;
    }
    if (cost > highest) {
      highest = cost;
      best = place;
    }
  }
  return best;
}
