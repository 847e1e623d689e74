import fc from "fast-check";
import { expect, test } from "vitest";
import { exactText, exactValue } from "../../../compiler/sharding/exact-json.ts";

const key = fc.oneof(fc.string(), fc.constantFrom("$array", "$map", "$", "$number", "__proto__"));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.double(),
    fc.string(),
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.float64Array(),
    fc.uint8Array(),
    fc.uint16Array(),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    fc.array(fc.tuple(fc.string(), tie("value")), { maxLength: 3 }).map((all) => new Map(all)),
  ),
}));

test("gives every value of plain data back, bit for bit", () => {
  fc.assert(
    fc.property(value, (one) => {
      const again = exactValue(exactText(one));
      expect(again).toStrictEqual(one);
      // Also the order of keys, which sums may follow.
      expect(exactText(again)).toBe(exactText(one));
    }),
  );
});

test("distinguishes 0 from -0, and keeps numbers that JSON lacks", () => {
  for (const number of [-0, 0, Number.NaN, Number.POSITIVE_INFINITY, -5e-324]) {
    expect(Object.is(exactValue(exactText(number)), number)).toBe(true);
  }
});

test("refuses unsupported objects and foreign text", () => {
  expect(() => exactText(() => 1)).toThrow(TypeError);
  expect(() => exactText(new Set())).toThrow(TypeError);
  for (const text of ['{"$array":["Float64Array","AAAA"]}', '{"$no":1}', '{"$map":1,"b":2}', "{"]) {
    expect(() => exactValue(text)).toThrow(SyntaxError);
  }
  expect(() => exactValue("[".repeat(200) + "]".repeat(200))).toThrow("nested too deeply");
});
