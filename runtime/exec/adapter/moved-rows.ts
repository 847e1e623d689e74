/** Moves the axis of rows: models may have it anywhere, everybody else has it in front. */

/** Bytes whose rows are in front, as bytes whose rows are at `axis`. */
export function rowsMovedTo(
  axis: number,
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  rowShape: readonly number[],
  elementBytes: number,
): Uint8Array<ArrayBuffer> {
  return moved(bytes, rows, outerOf(rowShape, axis), innerOf(rowShape, axis, elementBytes), true);
}

/** Bytes whose rows are at `axis`, as bytes whose rows are in front. */
export function rowsMovedFrom(
  axis: number,
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  rowShape: readonly number[],
  elementBytes: number,
): Uint8Array<ArrayBuffer> {
  return moved(bytes, rows, outerOf(rowShape, axis), innerOf(rowShape, axis, elementBytes), false);
}

/** Elements of the axes before the rows. */
function outerOf(rowShape: readonly number[], axis: number): number {
  return rowShape.slice(0, axis).reduce((product, size) => product * size, 1);
}

/** Bytes of the axes behind them. */
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
  // Of one row, or of rows in front of all, every byte stays where it is.
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
