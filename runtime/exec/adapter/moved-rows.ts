/** Moves the axis of rows: a model may have it anywhere, the server has it as axis 0. */

/** Converts bytes with the rows as axis 0 to bytes with the rows at `axis`. */
export function rowsMovedTo(
  axis: number,
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  rowShape: readonly number[],
  elementBytes: number,
): Uint8Array<ArrayBuffer> {
  return moved(bytes, rows, outerOf(rowShape, axis), innerOf(rowShape, axis, elementBytes), true);
}

/** Converts bytes with the rows at `axis` to bytes with the rows as axis 0. */
export function rowsMovedFrom(
  axis: number,
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  rowShape: readonly number[],
  elementBytes: number,
): Uint8Array<ArrayBuffer> {
  return moved(bytes, rows, outerOf(rowShape, axis), innerOf(rowShape, axis, elementBytes), false);
}

/** Returns the number of elements of the axes before the rows. */
function outerOf(rowShape: readonly number[], axis: number): number {
  return rowShape.slice(0, axis).reduce((product, size) => product * size, 1);
}

/** Returns the bytes of the axes after the rows. */
function innerOf(rowShape: readonly number[], axis: number, elementBytes: number): number {
  return rowShape.slice(axis).reduce((product, size) => product * size, elementBytes);
}

function moved(
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  outer: number,
  inner: number,
  isBehind: boolean,
): Uint8Array<ArrayBuffer> {
  // A single row, or rows already in front, need no move.
  if (rows === 1 || outer === 1) return bytes;
  const result = new Uint8Array(bytes.length);
  for (let row = 0; row < rows; row++) {
    for (let each = 0; each < outer; each++) {
      const [front, behind] = [(row * outer + each) * inner, (each * rows + row) * inner];
      const [from, to] = isBehind ? [front, behind] : [behind, front];
      result.set(bytes.subarray(from, from + inner), to);
    }
  }
  return result;
}
