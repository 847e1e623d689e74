import fc from "fast-check";
import { expect, test } from "vitest";
import {
  compileExpression,
  evaluateExpression,
} from "../../../../compiler/spec/document/expression.ts";

const ONLY = "only numbers, units, + - * / ^, min, max and sqrt may be used";

test.each([
  ["100 ms + 1 minute", 60_100, "time"],
  ["min(1 s, 20 ms)", 20, "time"],
  ["-(2 + 3)^2", -25, "none"],
  ["sqrt(2) / 2", Math.SQRT1_2, "none"],
  ["3 / (2 ms)", 1500, "rate"],
] as const)("evaluates %s", (text, value, dimension) => {
  const result = evaluateExpression(text);
  expect(result).toMatchObject({ ok: true, dimension });
  expect(result.ok && result.value).toBeCloseTo(value, 9);
});

test.each([
  ["150 parsnips", 'unknown unit "parsnips"'],
  ["150 m", "neither a time, a rate nor a plain number"],
  ["1 ms + 2", "its units do not go together"],
  ["1 / 0", "not a finite number"],
  ["9^9^9^9", "not a finite number"],
  ["sqrt(-1)", "not a real number"],
  ["2 *", "not an expression"],
  ["1".repeat(501), "longer than 500 characters"],
])("refuses %j", (text, reason) => {
  expect(evaluateExpression(text)).toEqual({ ok: false, reason });
});

test.each([
  ["import({})", 'unknown function "import"'],
  ['createUnit("x")', 'unknown function "createUnit"'],
  ['evaluate("1")', 'unknown function "evaluate"'],
  ['parse("1")', 'unknown function "parse"'],
  ['simplify("1")', 'unknown function "simplify"'],
  ['derivative("x", "x")', 'unknown function "derivative"'],
  ["toString()", 'unknown function "toString"'],
  ["constructor", 'unknown unit "constructor"'],
  ["__proto__", 'unknown unit "__proto__"'],
  ["ms.constructor", ONLY],
  ['ms["constructor"]', ONLY],
  ["x = 3", ONLY],
  ["f(x) = x", ONLY],
  ["1; 2", ONLY],
  ["1:1e9", ONLY],
  ["[1, 2]", ONLY],
  ["{ a: 1 }", ONLY],
  ["1e5!", ONLY],
  ["10 % 3", ONLY],
  ['"text"', ONLY],
])("keeps %j in the sandbox", (text, reason) => {
  expect(evaluateExpression(text)).toEqual({ ok: false, reason });
});

test("never throws and never returns a number that is not finite, whatever the text", () => {
  const token = fc.constantFrom(
    "1",
    "2.5",
    "ms",
    "s",
    "+",
    "-",
    "*",
    "/",
    "^",
    "(",
    ")",
    "%",
    " ",
    "min",
    ",",
    "e",
    "i",
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 20 }), (tokens) => {
      const result = evaluateExpression(tokens.join(""));
      expect(result.ok ? Number.isFinite(result.value) : result.reason.length > 0).toBe(true);
    }),
  );
});

test("evaluates an expression over names, which win over units and functions", () => {
  const compiled = compileExpression("s * min + 2 * constructor", ["s", "min", "constructor"]);
  expect(compiled.ok && compiled.evaluate({ s: 2, min: 3, constructor: 4 })).toBe(14);
});

test("refuses names that are not declared, units among them", () => {
  expect(compileExpression("detect * 2 ms", ["detect"])).toEqual({
    ok: false,
    reason: 'unknown name "ms"',
  });
});

test("evaluates to NaN where there is no finite number", () => {
  const compiled = compileExpression("1 / x", ["x"]);
  expect(compiled.ok && compiled.evaluate({ x: 0 })).toBeNaN();
});
