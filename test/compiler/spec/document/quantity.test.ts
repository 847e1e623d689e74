import fc from "fast-check";
import { expect, test } from "vitest";
import { readQuantity } from "../../../../compiler/spec/document/quantity.ts";

test.each([
  ["150 ms", "time", 150],
  ["0.25 s", "time", 250],
  ["0.29 s", "time", 290],
  ["1e-3 s", "time", 1],
  ["2 * 75 ms", "time", 150],
  ["1/2 minute", "time", 30_000],
  ["2000", "rate", 2000],
  ["2000 / s", "rate", 2000],
  ["120000 / minute", "rate", 2000],
  ["2 kHz", "rate", 2000],
  ["0.57972", "none", 0.57972],
  ["57.972%", "none", 0.57972],
  ["1/3", "none", 1 / 3],
] as const)("reads %j as a %s of %d", (text, dimension, value) => {
  expect(readQuantity(text, dimension, true)).toEqual({ ok: true, value });
});

test.each([
  ["150", "time", "without a unit"],
  ["150 / s", "time", "a rate"],
  ["150 ms", "rate", "a time"],
  ["1e999 ms", "time", "not a finite number"],
  ["2 *", "time", "not an expression"],
  ["", "time", "only numbers, units, + - * / ^, min, max and sqrt may be used"],
] as const)("refuses %j as a %s because it is %s", (text, dimension, reason) => {
  expect(readQuantity(text, dimension, false)).toEqual({ ok: false, reason });
});

/** Adding 0 turns −0, which is written "0", into 0. */
const finiteNumbers = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);

test("reads back every number it is given in milliseconds, exactly", () => {
  fc.assert(
    fc.property(finiteNumbers, (value) => {
      expect(readQuantity(`${value} ms`, "time", false)).toEqual({ ok: true, value });
      expect(readQuantity(value, "time", true)).toEqual({ ok: true, value });
    }),
  );
});

test("reads a percentage as the number with its point moved by two", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), (hundredThousandths) => {
      const decimals = String(hundredThousandths % 1000).padStart(3, "0");
      const percent = `${Math.floor(hundredThousandths / 1000)}.${decimals}%`;
      const value = Number(`${hundredThousandths}e-5`);
      expect(readQuantity(percent, "none", false)).toEqual({ ok: true, value });
    }),
  );
});
