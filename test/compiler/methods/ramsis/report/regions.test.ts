import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  rectanglesByValue,
  roomiestRectangle,
} from "../../../../../compiler/methods/ramsis/report/regions.ts";

const tables = fc
  .tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }))
  .chain(([rows, columns]) =>
    fc.record({
      columns: fc.constant(columns),
      cells: fc.array(fc.integer({ min: 0, max: 2 }), {
        minLength: rows * columns,
        maxLength: rows * columns,
      }),
    }),
  );

describe("rectangles", () => {
  test("cover every cell once, with its own value", () => {
    fc.assert(
      fc.property(tables, ({ cells, columns }) => {
        const seen = new Array<number>(cells.length).fill(-1);
        for (const [value, rectangles] of rectanglesByValue(cells, columns)) {
          for (const { top, bottom, left, right } of rectangles) {
            for (let row = top; row < bottom; row++) {
              for (let column = left; column < right; column++) {
                expect(seen[row * columns + column]).toBe(-1);
                seen[row * columns + column] = value;
              }
            }
          }
        }
        expect(seen).toEqual(cells);
      }),
    );
  });

  test("are one where one action fills a block", () => {
    const cells = [1, 1, 2, 1, 1, 2];
    expect(rectanglesByValue(cells, 3).get(1)).toEqual([{ top: 0, bottom: 2, left: 0, right: 2 }]);
  });
});

describe("the roomiest rectangle", () => {
  const width = (left: number, right: number): number => right - left;
  const height = (top: number, bottom: number): number => bottom - top;

  test("has the longest shorter side of all, as trying each finds it", () => {
    fc.assert(
      fc.property(tables, ({ cells, columns }) => {
        const found = roomiestRectangle(cells, columns, 1, width, height);
        expect(
          found === null ? 0 : Math.min(found.right - found.left, found.bottom - found.top),
        ).toBe(shorterSideByTrying(cells, columns));
      }),
    );
  });

  function shorterSideByTrying(cells: readonly number[], columns: number): number {
    const rows = cells.length / columns;
    let best = 0;
    for (let top = 0; top < rows; top++)
      for (let left = 0; left < columns; left++)
        for (let bottom = top + 1; bottom <= rows; bottom++)
          for (let right = left + 1; right <= columns; right++) {
            const block = cells.filter((_, cell) => {
              const [row, column] = [Math.floor(cell / columns), cell % columns];
              return row >= top && row < bottom && column >= left && column < right;
            });
            if (block.every((value) => value === 1)) {
              best = Math.max(best, Math.min(bottom - top, right - left));
            }
          }
    return best;
  }
});
