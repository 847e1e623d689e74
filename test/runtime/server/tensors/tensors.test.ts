import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { halfToNumber, numberToHalf } from "../../../../runtime/core/half.ts";
import { parseInferRequest } from "../../../../runtime/server/protocol/protocol.ts";
import { parseJson, readInteger } from "../../../../runtime/server/tensors/json-text.ts";
import { signatureOf } from "../../../../runtime/server/tensors/signature.ts";
import { bytesOfJson, jsonOfBytes, rowBounds } from "../../../../runtime/server/tensors/tensors.ts";
import { ECHOED, servedBundle, X } from "../harness.ts";

describe("half precision", () => {
  test("every half is the number it came from", () => {
    for (let half = 0; half < 65_536; half++) {
      const number = halfToNumber(half);
      if (!Number.isNaN(number) && numberToHalf(number) !== half) expect.fail(`half ${half}`);
    }
    expect(numberToHalf(Number.NaN)).toBe(0x7e00);
  });

  test("a number becomes the nearest half, of two the even one", () => {
    const finite = fc.integer({ min: 0, max: 0x7bfe });
    fc.assert(
      fc.property(finite, fc.double({ min: 0, max: 1, noNaN: true }), (half, fraction) => {
        const [low, high] = [halfToNumber(half), halfToNumber(half + 1)];
        const number = low + fraction * (high - low);
        const [below, above] = [number - low, high - number];
        const isLow = below < above || (below === above && half % 2 === 0);
        expect(numberToHalf(number)).toBe(isLow ? half : half + 1);
      }),
    );
    expect(numberToHalf(65_519.99)).toBe(0x7bff);
    expect(numberToHalf(65_520)).toBe(0x7c00);
  });
});

describe("JSON with long integers", () => {
  test("parses as JSON.parse does wherever there is no integer too long for a number", () => {
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: "grapheme" }), (json, text) => {
        // The text brings the long digits that make the parser look.
        const long = JSON.stringify(`${text}-98765432109876543`);
        const document = `{"a":${json},"1234567890123456":${long}}`;
        const plain = JSON.parse(document);
        expect(JSON.stringify(parseJson(document), restored)).toBe(JSON.stringify(plain, restored));
      }),
    );
  });

  test("keeps the digits of 64-bit integers, and takes fractions and exponents for numbers", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (integer) => {
        const [value] = parseJson(`[ ${integer}]`) as unknown[];
        expect(readInteger(value)).toBe(integer);
      }),
    );
    const others =
      "[0.12345678901234567,12345678901234567.5,1e-1234567890123456,12345678901234567e2]";
    expect(parseJson(others)).toEqual(JSON.parse(others));
  });
});

/** Integers that only one of the parsers keeps exact are compared as numbers. */
test("an integer too long for a number is none of the protocol's texts, and no text is one", () => {
  const signature = signatureOf(
    servedBundle({}, [{ name: "x", dtype: "string", shape: [-1, 1] }], [ECHOED]),
  );
  const read = (text: string) =>
    parseInferRequest(Buffer.from(text), undefined, signature, 1).inputs.length;
  const withData = (data: string, more = "") =>
    `{"inputs":[{"name":"x","datatype":"BYTES","shape":[1,1],"data":[${data}]}]${more}}`;
  expect(read(withData('"12345678901234567890"'))).toBe(1);
  const long = "12345678901234567890";
  expect(() => read(withData(long))).toThrow(`data[0]: expected a string, got ${long}`);
  for (const id of [long, `-${long}`, "5", "1e400"]) {
    expect(() => read(withData('""', `,"id":${id}`))).toThrow("id: expected a string, got ");
  }
  expect(() => read(withData('""', `,"id":${long}`))).toThrow(`id: expected a string, got ${long}`);
  expect(read(withData('""', ',"parameters":{"timeout":1234567890123456}'))).toBe(1);
  expect(readInteger("\u0000integer:12345678901234567890")).toBeUndefined();
});

function restored(_: string, value: unknown): unknown {
  const integer = readInteger(value);
  return integer === undefined ? value : Number(integer);
}

test("JSON to bytes and back is identity, nested or flat", () => {
  const shape = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }));
  fc.assert(
    fc.property(
      shape,
      fc.infiniteStream(fc.float({ noNaN: true, noDefaultInfinity: true })),
      (dims, stream) => {
        const [rows, columns] = dims;
        const nested = Array.from({ length: rows }, () =>
          [...stream.take(columns)].map((v) => v + 0),
        );
        const json = JSON.stringify(nested.flat());
        expect(jsonOfBytes("FP32", bytesOfJson("FP32", dims, nested, "d"))).toBe(json);
        expect(jsonOfBytes("FP32", bytesOfJson("FP32", dims, nested.flat(), "d"))).toBe(json);
      },
    ),
  );
});

test("rows of strings begin where the lengths say, and cut strings are no rows", () => {
  const bytes = bytesOfJson("BYTES", [3, 2], ["a", "", "bcd", "e", "f", "gh"], "d");
  expect(rowBounds("BYTES", bytes, 3, 2)).toEqual([0, 9, 21, 32]);
  expect(rowBounds("BYTES", bytes.subarray(0, 31), 3, 2)).toBeUndefined();
  expect(rowBounds("BYTES", bytes, 2, 2)).toBeUndefined();
  expect(rowBounds("FP32", new Uint8Array(9), 1, 2)).toBeUndefined();
});

describe("signature", () => {
  function withLastModel(change: object): RamsisBundle {
    const bundle = servedBundle();
    const [task] = bundle.tasks;
    if (task === undefined) throw new Error("no task");
    const variants = task.variants.map((variant, index) =>
      index === 0 || variant.model === null
        ? variant
        : { ...variant, model: { ...variant.model, ...change } },
    );
    return { ...bundle, tasks: [{ ...task, variants }] };
  }

  test("is found in any order of a variant's tensors", () => {
    const z = { ...X, name: "z" };
    const bundle = servedBundle({}, [X, z]);
    const [task] = bundle.tasks;
    const [small, large] = task?.variants ?? [];
    if (task === undefined || !small?.model || !large) throw new Error("no variants");
    const turned = { ...large, model: { ...small.model, inputs: [z, X] } };
    const { variants } = signatureOf({
      ...bundle,
      tasks: [{ ...task, variants: [small, turned] }],
    });
    expect(variants.map(({ inputOrder }) => inputOrder)).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });

  test("leaves a dimension open in which the variants' outputs differ", () => {
    const wide = { ...ECHOED, shape: [-1, 3] };
    expect(signatureOf(withLastModel({ outputs: [wide] })).outputs[0]?.rowShape).toEqual([-1]);
  });

  test.each([
    ["another name", { inputs: [{ ...X, name: "z" }] }],
    ["another type", { inputs: [{ ...X, dtype: "int8" }] }],
    ["another shape", { inputs: [{ ...X, shape: [-1, 3] }] }],
    ["one input more", { inputs: [X, { ...X, name: "z" }] }],
    ["a dynamic dimension beside the rows", { inputs: [{ ...X, shape: [-1, -1] }] }],
    ["a scalar", { inputs: [{ ...X, shape: [] }] }],
    ["a type the protocol lacks", { outputs: [{ ...ECHOED, dtype: "complex64" }] }],
  ])("refuses %s in one variant", (_, change) => {
    expect(() => signatureOf(withLastModel(change))).toThrow(
      expect.objectContaining({ code: "RUNTIME_MODEL" }),
    );
  });
});
