/** Rows filled up to a larger shape. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { bucketOf, paddedInputs, paddedRows } from "../../../../runtime/server/tensors/padding.ts";
import {
  DATATYPES,
  elementBytesOf,
  elementCountOf,
} from "../../../../runtime/server/tensors/tensors.ts";

const shapes = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 })), {
    minLength: 1,
    maxLength: 3,
  })
  .map((axes) => ({
    from: axes.map(([size]) => size),
    to: axes.map(([size, more]) => size + more),
  }));

/** The index in a row-major tensor of each place, with the place. */
function places(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, size) => all.flatMap((at) => Array.from({ length: size }, (_, one) => [...at, one])),
    [[]],
  );
}

test("every element is where it was on every axis, and the rest is padding", () => {
  const rowCounts = fc.integer({ min: 1, max: 3 });
  fc.assert(
    fc.property(shapes, rowCounts, ({ from, to }, rows) => {
      const count = rows * elementCountOf(from);
      const source = Float32Array.from({ length: count }, (_, index) => index + 1);
      const bytes = new Uint8Array(source.buffer);
      const padded = paddedRows("FP32", bytes, rows, { from, to, padding: -2 });
      const found = new Float32Array(padded.slice().buffer);
      const own = new Map(places([rows, ...from]).map((at, index) => [at.join(), index + 1]));
      const expected = places([rows, ...to]).map((at) => own.get(at.join()) ?? -2);
      expect([...found]).toEqual(expected);
    }),
  );
});

test("texts are filled with empty ones", () => {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const bytes = Buffer.concat(["ab", "c", "", "d"].map(text));
  const padded = paddedRows("BYTES", bytes, 2, { from: [2], to: [3], padding: 0 });
  expect(Buffer.from(padded)).toEqual(Buffer.concat(["ab", "c", "", "", "d", ""].map(text)));
});

test.each(Object.entries(DATATYPES).filter(([datatype]) => datatype !== "BYTES"))(
  "a padding of 1 is an element of %s",
  (datatype, { elementBytes }) => {
    const element = elementBytesOf(datatype as keyof typeof DATATYPES, 1);
    expect(element).toHaveLength(elementBytes);
    expect(element.some((byte) => byte !== 0)).toBe(true);
  },
);

test.each([
  ["UINT8", -1],
  ["INT64", 0.5],
  ["UINT64", 2 ** 64],
  ["BOOL", 2],
] as const)("%s has no element %d", (datatype, value) => {
  expect(() => elementBytesOf(datatype, value)).toThrow(`${datatype} has no element ${value}`);
});

test("the bucket of several axes is the product of the smallest sizes, the first slowest", () => {
  const axes = [
    { inputs: [{ input: 0, axis: 1 }], sizes: [2, 4], padding: 0 },
    { inputs: [{ input: 0, axis: 2 }], sizes: [3, 5, 7], padding: 0 },
  ];
  expect(
    [
      [1, 1],
      [2, 4],
      [3, 3],
      [4, 7],
    ].map((found) => bucketOf(axes, found)),
  ).toEqual([0, 1, 3, 5]);
});

test("inputs that share an axis are filled alike, others stay the bytes they were", () => {
  const axis = { inputs: [0, 1].map((input) => ({ input, axis: 1 })), sizes: [4], padding: 9 };
  const tensor = (name: string, rowShape: readonly number[]) => {
    return { name, datatype: "UINT8", rowShape } as const;
  };
  const inputs = [tensor("ids", [-1]), tensor("mask", [-1]), tensor("kind", [2])];
  const given = [
    [1, 2],
    [1, 1],
    [5, 6],
  ].map((values) => Uint8Array.from(values));
  let taken = 0;
  const found = paddedInputs({ inputs, axes: [axis] }, { rows: 1, inputs: given }, [2], (bytes) => {
    taken += bytes;
  });
  expect(found.inputs.map((bytes) => [...bytes])).toEqual([
    [1, 2, 9, 9],
    [1, 1, 9, 9],
    [5, 6],
  ]);
  expect(found.inputs[2]).toBe(given[2]);
  expect([found.bucket, found.filled, found.elements, taken]).toEqual([0, 4, 10, 4]);
});
