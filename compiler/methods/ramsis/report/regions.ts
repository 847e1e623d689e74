/** Cells of an action table as few rectangles: neighbours with one action are merged. */

/** Rows `top` to `bottom` and columns `left` to `right`, both exclusive at the end. */
export interface Rectangle {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/**
 * Rectangles by the value of their cells; every cell is in exactly one.
 * @param cells [rowCount, columnCount]
 */
export function rectanglesByValue(
  cells: ArrayLike<number>,
  columnCount: number,
): Map<number, Rectangle[]> {
  const rectangles = new Map<number, Rectangle[]>();
  const rowCount = cells.length / columnCount;
  let open = new Map<string, number>();
  const close = (key: string, top: number, bottom: number): void => {
    const [value = 0, left = 0, right = 0] = key.split(" ").map(Number);
    const list = rectangles.get(value) ?? [];
    list.push({ top, bottom, left, right });
    rectangles.set(value, list);
  };
  for (let row = 0; row < rowCount; row++) {
    const runs = new Map<string, number>();
    for (let left = 0; left < columnCount; ) {
      const value = cells[row * columnCount + left] ?? 0;
      let right = left + 1;
      while (right < columnCount && cells[row * columnCount + right] === value) right++;
      const key = `${value} ${left} ${right}`;
      runs.set(key, open.get(key) ?? row);
      left = right;
    }
    for (const [key, top] of open) if (!runs.has(key)) close(key, top, row);
    open = runs;
  }
  for (const [key, top] of open) close(key, top, rowCount);
  return rectangles;
}

/**
 * The rectangle of cells with `value` whose shorter side is longest: the best place for a label.
 * Null if no cell has the value.
 * @param width of columns from left to right.
 * @param height of rows from top to bottom; both grow with the range.
 */
export function roomiestRectangle(
  cells: ArrayLike<number>,
  columnCount: number,
  value: number,
  width: (left: number, right: number) => number,
  height: (top: number, bottom: number) => number,
): Rectangle | null {
  const rowCount = cells.length / columnCount;
  /** Number of consecutive rows with the value that end at the current one: [columnCount]. */
  const depth = new Uint32Array(columnCount + 1);
  let best: Rectangle | null = null;
  let bestScore = 0;
  for (let row = 0; row < rowCount; row++) {
    const stack: { left: number; depth: number }[] = [];
    for (let column = 0; column <= columnCount; column++) {
      const has = column < columnCount && cells[row * columnCount + column] === value;
      depth[column] = has ? (depth[column] ?? 0) + 1 : 0;
      let left = column;
      for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
        if (top.depth < (depth[column] ?? 0)) break;
        stack.pop();
        const candidate = {
          top: row + 1 - top.depth,
          bottom: row + 1,
          left: top.left,
          right: column,
        };
        const sides = [width(top.left, column), height(candidate.top, row + 1)] as const;
        // The longer side only breaks ties.
        const score = Math.min(...sides) + 1e-3 * Math.max(...sides);
        if (top.depth > 0 && score > bestScore) {
          best = candidate;
          bestScore = score;
        }
        left = top.left;
      }
      stack.push({ left, depth: depth[column] ?? 0 });
    }
  }
  return best;
}
