/** Powers in specs, whose last bits bundles keep. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { evaluateExpression } from "../../../../compiler/spec/document/expression.ts";
import { power } from "../../../../compiler/spec/document/power.ts";

// What `**` gives for these ends otherwise on Node 22 or on Node 24.
test.each([
  ["10^-5", 1e-5],
  ["0.0023^7", 3.404_825_447_000_000_4e-19],
  ["0.0011^(1/3)", 0.103_228_011_545_636_72],
])("%s is the same number on every Node", (text, value) => {
  expect(evaluateExpression(text)).toEqual({ ok: true, value, dimension: "none" });
});

test.each([
  ["(-2)^3", -8],
  ["(-1.01)^-101", -1 / 1.01 ** 101],
  ["4^-1.5", 0.125],
  ["0^0", 1],
  ["0^0.3", 0],
])("%s", (text, value) => {
  const result = evaluateExpression(text);
  expect(result.ok && result.value).toBeCloseTo(value, 12);
});

test.each([
  ["(-8)^(1/3)", "not a real number"],
  ["0^-1", "not a finite number"],
])("refuses %s", (text, reason) => {
  expect(evaluateExpression(text)).toEqual({ ok: false, reason });
});

test("is a power, but for the last bits", () => {
  const base = fc.double({ min: 1e-3, max: 1e3, noNaN: true });
  const exponent = fc.oneof(
    fc.integer({ min: -99, max: 99 }),
    fc.double({ min: -99, max: 99, noNaN: true }),
  );
  fc.assert(
    fc.property(base, exponent, (x, y) => {
      expect(Math.abs(power(x, y) / x ** y - 1)).toBeLessThan(1e-12);
    }),
  );
});
