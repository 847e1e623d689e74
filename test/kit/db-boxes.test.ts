/** Lines of text from a detector's map: rectangles that are known, and the geometry below. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textBoxes } from "../../kit/boxes/text-boxes.ts";
import open from "../../kit/db-boxes.ts";
import { componentEnds } from "../../kit/geometry/components.ts";
import {
  convexHull,
  cornersOf,
  type Point,
  type Rectangle,
  smallestRectangle,
} from "../../kit/geometry/rectangle.ts";
import type { NamedTensors } from "../../kit/module/contract.ts";

const folder = ".";
const RULE = { threshold: 0.3, minScore: 0.6, unclip: 1.5, minSide: 3, isDilated: false };

/** A map where the pixels of rectangles are as likely as told. */
function mapOf(height: number, width: number, ...parts: readonly (readonly [Rectangle, number])[]) {
  const data = new Float32Array(height * width);
  for (const [{ x, y, across, halfWidth, halfHeight }, value] of parts) {
    for (let line = 0; line < height; line++) {
      for (let column = 0; column < width; column++) {
        const along = (column - x) * across.x + (line - y) * across.y;
        const beside = (line - y) * across.x - (column - x) * across.y;
        const isWithin = Math.abs(along) <= halfWidth && Math.abs(beside) <= halfHeight;
        if (isWithin) data[line * width + column] = value;
      }
    }
  }
  return { data, width, height };
}

function turned(x: number, y: number, width: number, height: number, degrees = 0): Rectangle {
  const angle = (degrees * Math.PI) / 180;
  const across = { x: Math.cos(angle), y: Math.sin(angle) };
  return { x, y, across, halfWidth: width / 2, halfHeight: height / 2 };
}

function expectNear(found: readonly Point[], expected: readonly Point[], pixels: number): void {
  for (const [index, point] of expected.entries()) {
    const other = found[index] ?? { x: Number.NaN, y: Number.NaN };
    expect(Math.hypot(point.x - other.x, point.y - other.y)).toBeLessThanOrEqual(pixels);
  }
}

describe("a box around a line", () => {
  test("grows by its area times the ratio, divided by its perimeter", () => {
    const map = mapOf(60, 100, [turned(45, 30, 60, 10), 0.9]);
    const [box] = textBoxes(map, RULE);
    const distance = (60 * 10 * 1.5) / (2 * (60 + 10));
    const [left, right] = [15 - distance, 75 + distance];
    const [top, bottom] = [25 - distance, 35 + distance];
    expect(box?.score).toBeCloseTo(0.9, 6);
    const corners = [
      { x: left, y: top },
      { x: right, y: top },
      { x: right, y: bottom },
      { x: left, y: bottom },
    ];
    expectNear(box?.corners ?? [], corners, 1e-6);
  });

  test.each([-40, -12, 5, 30, 44])("is turned as the line is, by %i degrees", (degrees) => {
    const line = turned(100, 90, 120, 20, degrees);
    const [box] = textBoxes(mapOf(180, 200, [line, 0.8]), RULE);
    const distance = (120 * 20 * 1.5) / (2 * (120 + 20));
    const loose = { ...line, halfWidth: 60 + distance, halfHeight: 10 + distance };
    // Pixels of the border are within the line or not as a whole.
    expectNear(box?.corners ?? [], cornersOf(loose), 2.5);
    expect(box?.score).toBeGreaterThan(0.7);
  });

  test("is not one where it is small, unlikely or below the threshold", () => {
    const small = mapOf(40, 40, [turned(20, 20, 2, 2), 0.9]);
    const unlikely = mapOf(40, 40, [turned(20, 20, 20, 8), 0.5]);
    const below = mapOf(40, 40, [turned(20, 20, 20, 8), 0.25]);
    for (const map of [small, unlikely, below]) expect(textBoxes(map, RULE)).toEqual([]);
    expect(textBoxes(unlikely, { ...RULE, minScore: 0.4 })).toHaveLength(1);
    expect(textBoxes(below, { ...RULE, threshold: 0.2, minScore: 0.2 })).toHaveLength(1);
  });

  test("joins what is a pixel apart, where text is dilated", () => {
    const parts = [20, 32].map((x) => [turned(x, 20, 10, 8), 0.9] as const);
    const map = mapOf(40, 60, ...parts);
    expect(textBoxes(map, RULE)).toHaveLength(2);
    expect(textBoxes(map, { ...RULE, isDilated: true })).toHaveLength(1);
  });
});

describe("the geometry", () => {
  const bitmap = fc.record({
    width: fc.integer({ min: 1, max: 9 }),
    height: fc.integer({ min: 1, max: 9 }),
    bits: fc.array(fc.nat(2), { minLength: 81, maxLength: 81 }),
  });

  test("finds the parts that are connected, by their ends in each line", () => {
    fc.assert(
      fc.property(bitmap, ({ width, height, bits }) => {
        const data = Uint8Array.from({ length: width * height }, (_, at) =>
          bits[at] === 0 ? 1 : 0,
        );
        expect(componentEnds({ data, width, height })).toEqual(slowEnds(data, width, height));
      }),
    );
  });

  const points = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { minLength: 1, maxLength: 15 });

  test("finds the smallest rectangle around points, whatever they are", () => {
    fc.assert(
      fc.property(points, (tuples) => {
        const all = tuples.map(([x, y]) => ({ x, y })).sort((a, b) => a.y - b.y || a.x - b.x);
        const found = smallestRectangle(convexHull(all));
        const area = 4 * found.halfWidth * found.halfHeight;
        for (const { x, y } of all) {
          const along = (x - found.x) * found.across.x + (y - found.y) * found.across.y;
          const beside = (y - found.y) * found.across.x - (x - found.x) * found.across.y;
          expect(Math.abs(along)).toBeLessThanOrEqual(found.halfWidth + 1e-9);
          expect(Math.abs(beside)).toBeLessThanOrEqual(found.halfHeight + 1e-9);
        }
        // No direction of many has a smaller one.
        let least = Number.POSITIVE_INFINITY;
        for (let step = 0; step < 300; step++) {
          const angle = (step * Math.PI) / 600;
          const sides = [angle, angle + Math.PI / 2].map((direction) => {
            const places = all.map(({ x, y }) => x * Math.cos(direction) + y * Math.sin(direction));
            return Math.max(...places) - Math.min(...places);
          });
          least = Math.min(least, (sides[0] ?? 0) * (sides[1] ?? 0));
        }
        expect(least).toBeGreaterThanOrEqual(area - 1e-9);
      }),
      { numRuns: 30 },
    );
  });

  test("names corners clockwise from the upper left", () => {
    for (const degrees of [-170, -95, -44, 0, 20, 89, 91, 200]) {
      const [a, b, c, d] = cornersOf(turned(50, 50, 40, 10, degrees));
      if (!a || !b || !c || !d) throw new Error("four corners");
      const area = (a.x - c.x) * (b.y - d.y) - (a.y - c.y) * (b.x - d.x);
      expect(area).toBeCloseTo(2 * 400, 6);
      expect(Math.max(a.x, d.x)).toBeLessThanOrEqual(Math.min(b.x, c.x) + 1e-9);
    }
  });
});

/** By joining pixels until nothing changes. */
function slowEnds(data: Uint8Array, width: number, height: number): Point[][] {
  const part = Array.from(data, (value, at) => (value === 1 ? at : -1));
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const [one, first] of part.entries()) {
      for (const [other, second] of part.entries()) {
        const isNear =
          Math.abs((one % width) - (other % width)) <= 1 &&
          Math.abs(Math.floor(one / width) - Math.floor(other / width)) <= 1;
        if (!isNear || first < 0 || second < 0 || (part[one] ?? 0) <= second) continue;
        part[one] = second;
        isChanged = true;
      }
    }
  }
  const firsts = [...new Set(part.filter((value) => value >= 0))].sort((a, b) => a - b);
  return firsts.map((first) =>
    Array.from({ length: height }, (_, y) => y).flatMap((y) => {
      const columns = Array.from({ length: width }, (_, x) => x).filter(
        (x) => part[y * width + x] === first,
      );
      const ends = [columns[0], columns.length > 1 ? columns.at(-1) : undefined];
      return ends.flatMap((x) => (x === undefined ? [] : [{ x, y }]));
    }),
  );
}

describe("the module", () => {
  const lines = [
    [turned(150, 62, 60, 12), 0.8],
    [turned(50, 60, 60, 12), 0.9],
    [turned(100, 20, 60, 12), 0.7],
  ] as const;
  const map = mapOf(100, 200, ...lines);
  const inputs = { map: { data: map.data, shape: [1, 1, 100, 200] } };

  function scoresOf(tensors: NamedTensors): number[] {
    const count = Number(tensors["count"]?.data[0]);
    return Array.from({ length: count }, (_, at) => Number(tensors["scores"]?.data[at]));
  }

  test("tells lines as they are read, or the likeliest first", async () => {
    const reading = await open({ options: { size: [100, 200], max: 4 }, folder });
    const found = await reading.run(inputs, 1);
    expect(found["boxes"]?.shape).toEqual([1, 4, 4, 2]);
    expect(scoresOf(found).map((score) => score.toFixed(1))).toEqual(["0.7", "0.9", "0.8"]);
    const likely = await open({ options: { size: [100, 200], max: 2, order: "score" }, folder });
    const two = await likely.run(inputs, 1);
    expect(scoresOf(two).map((score) => score.toFixed(1))).toEqual(["0.9", "0.8"]);
  });

  test("tells boxes in the pixels of the image, within it", async () => {
    const module = await open({ options: { size: [100, 200], original: true }, folder });
    const found = await module.run(
      {
        ...inputs,
        size: { data: BigInt64Array.of(300n, 520n), shape: [1, 2] },
        to_original: { data: Float32Array.of(3, 3, 0, -15), shape: [1, 4] },
      },
      1,
    );
    const plain = await (await open({ options: { size: [100, 200] }, folder })).run(inputs, 1);
    const [x, y] = [0, 1].map((at) => Number(plain["boxes"]?.data[at]));
    expect(found["boxes"]?.data[0]).toBeCloseTo((x ?? 0) * 3, 3);
    expect(found["boxes"]?.data[1]).toBeCloseTo((y ?? 0) * 3 - 15, 3);
    const xs = Array.from(found["boxes"]?.data as Float32Array).filter((_, at) => at % 2 === 0);
    expect(Math.max(...xs)).toBe(520);
  });

  test("refuses a map with what is no number by its row", async () => {
    const module = await open({ options: { size: [2, 2] }, folder });
    const data = Float32Array.of(0, 0, 0, 0, 0, Number.NaN, 0, 0);
    await expect(module.run({ map: { data, shape: [2, 1, 2, 2] } }, 2)).rejects.toMatchObject({
      rows: [1],
      message: 'input "map" row 1: expected numbers, got NaN at 1',
    });
  });
});
