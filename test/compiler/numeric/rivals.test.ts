import fc from "fast-check";
import { expect, test } from "vitest";
import { rivalCounts } from "../../../compiler/numeric/rivals.ts";

const point = fc.record({
  cost: fc.integer({ min: 0, max: 9 }),
  worth: fc.integer({ min: 0, max: 9 }),
});

test("counts for each point those of lower cost and no less worth", () => {
  fc.assert(
    fc.property(fc.array(point, { maxLength: 40 }), (points) => {
      const expected = points.map(
        ({ cost, worth }) =>
          points.filter((other) => other.cost < cost && other.worth >= worth).length,
      );
      const found = rivalCounts(
        Float64Array.from(points, ({ cost }) => cost),
        Float64Array.from(points, ({ worth }) => worth),
      );
      expect([...found]).toEqual(expected);
    }),
  );
});
