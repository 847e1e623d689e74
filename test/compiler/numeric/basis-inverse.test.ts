import { expect, test } from "vitest";
import {
  bestColumn,
  exchange,
  invert,
  leavingRow,
  simplexMultipliers,
  timesInverse,
} from "../../../compiler/numeric/basis-inverse.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const COUNT = 6;

test("an inverse updated column by column is the inverse computed anew", () => {
  const rng = new Rng(1, 1);
  const columns = Array.from({ length: COUNT }, () =>
    Float64Array.from({ length: COUNT }, () => rng.nextFloat() + 0.1),
  );
  const inverse = identity();
  const values = new Float64Array(COUNT).fill(1);
  const direction = new Float64Array(COUNT);
  const matrix = identity();
  for (const [at, column] of columns.entries()) {
    timesInverse(COUNT, inverse, column, direction);
    exchange(COUNT, inverse, values, direction, at);
    for (let row = 0; row < COUNT; row++) matrix[row * COUNT + at] = column[row] ?? 0;
  }
  const anew = new Float64Array(COUNT * COUNT);
  expect(invert(COUNT, matrix.slice(), anew)).toBe(true);
  for (const [at, value] of anew.entries()) expect(inverse[at]).toBeCloseTo(value, 9);
  // Multipliers times the basis give back the costs, and the basis times its values the bounds.
  const cost = Float64Array.from({ length: COUNT }, () => rng.nextFloat());
  const multipliers = new Float64Array(COUNT);
  simplexMultipliers(COUNT, inverse, cost, multipliers);
  for (const [at, column] of columns.entries()) {
    expect(column.reduce((sum, one, row) => sum + one * (multipliers[row] ?? 0), 0)).toBeCloseTo(
      cost[at] ?? 0,
      9,
    );
  }
  for (let row = 0; row < COUNT; row++) {
    const sum = columns.reduce(
      (all, column, at) => all + (column[row] ?? 0) * (values[at] ?? 0),
      0,
    );
    expect(sum).toBeCloseTo(1, 9);
  }
});

test("finds no inverse of a singular matrix", () => {
  expect(invert(2, Float64Array.of(1, 2, 2, 4), new Float64Array(4))).toBe(false);
});

test("the row of the least ratio leaves; of equals the larger pivot, a fixed one first", () => {
  const free = new Uint8Array(3);
  expect(leavingRow(3, Float64Array.of(4, 1, 2), Float64Array.of(1, 1, -1), free)).toBe(1);
  expect(leavingRow(3, Float64Array.of(2, 1, 2), Float64Array.of(2, 1, 0), free)).toBe(0);
  const fixed = Uint8Array.of(0, 0, 1);
  expect(leavingRow(3, Float64Array.of(4, 1, 0), Float64Array.of(1, 1, -1), fixed)).toBe(2);
  expect(leavingRow(3, Float64Array.of(4, 1, 2), Float64Array.of(-1, 0, -1), free)).toBe(-1);
});

test("chooses the column of the highest reduced cost above the floor, first of equals", () => {
  const choose = (floor: number, active: number[]) =>
    bestColumn(
      active.length,
      Uint32Array.from(active),
      Uint32Array.of(0, 1, 2, 4),
      Uint32Array.of(0, 1, 0, 1),
      Float64Array.of(1, 1, 0.5, 0.5),
      Float64Array.of(1, 2, 1.5),
      Uint32Array.of(0, 0, 0),
      Float64Array.of(0.5, 1.5),
      Float64Array.of(0.25),
      1,
      floor,
    );
  // Reduced costs: 1 - 0.5 - 0.25, 2 - 1.5 - 0.25, 1.5 - 1 - 0.25: all a quarter.
  expect(choose(0, [0, 1, 2])).toBe(0);
  expect(choose(0, [2, 1])).toBe(0);
  expect(choose(0.25, [0, 1, 2])).toBe(-1);
});

function identity(): Float64Array {
  return Float64Array.from({ length: COUNT * COUNT }, (_, at) => (at % (COUNT + 1) === 0 ? 1 : 0));
}
