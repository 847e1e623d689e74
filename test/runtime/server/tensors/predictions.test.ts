/** Predicted classes read from the outputs of a model. */
import { expect, test } from "vitest";
import { bytesOfNames } from "../../../../runtime/server/requests/variant-wish.ts";
import { PredictionReader } from "../../../../runtime/server/tensors/predictions.ts";
import type { ClientOutput } from "../../../../runtime/server/tensors/signature.ts";

function readerOf(outputs: readonly ClientOutput[], outputsAreRows = true): PredictionReader {
  return new PredictionReader({ outputs, outputsAreRows });
}

function floats(shape: readonly number[], values: readonly number[]) {
  return { shape, parts: [new Uint8Array(Float32Array.from(values).buffer)] };
}

const SCORES: ClientOutput = { name: "scores", datatype: "FP32", rowShape: [3] };
const CLASS: ClientOutput = { name: "class", datatype: "INT64", rowShape: [] };
const TEXT: ClientOutput = { name: "top", datatype: "BYTES", rowShape: [2] };

test("the class is the index of the largest score, the lowest of equal ones", () => {
  const reader = readerOf([SCORES]);
  const answer = { outputs: [floats([3, 3], [1, 5, 2, 7, 7, 0, Number.NaN, -1, -3])] };
  expect(reader.read(answer, 3)).toEqual([{ index: 1 }, { index: 0 }, { index: 1 }]);
  expect(reader.classes).toBe(3);
});

test("rows from several batches are read as one output", () => {
  const outputs = [{ shape: [2, 3], parts: [...floats([], [0, 0, 1]).parts] }];
  outputs[0]?.parts.push(...floats([], [1, 0, 0]).parts);
  expect(readerOf([SCORES]).read({ outputs }, 2)).toEqual([{ index: 2 }, { index: 0 }]);
});

test("a class output takes precedence over scores", () => {
  const reader = readerOf([SCORES, CLASS]);
  const told = { shape: [1], parts: [new Uint8Array(BigInt64Array.from([2n]).buffer)] };
  expect(reader.read({ outputs: [floats([1, 3], [9, 0, 0]), told] }, 1)).toEqual([{ index: 2 }]);
  expect(reader.classes).toBeUndefined();
});

test("classes given as texts have an index, a name, or both", () => {
  const reader = readerOf([TEXT]);
  const texts = ["0.900000:4:cat", "0.1:2:dog", "-1.5:7", "-2.0:1", "dog", "cat"];
  const outputs = [{ shape: [3, 2], parts: [bytesOfNames(texts)] }];
  expect(reader.read({ outputs }, 3)).toEqual([
    { index: 4, name: "cat" },
    { index: 7 },
    { name: "dog" },
  ]);
  const long = [{ shape: [1, 2], parts: [bytesOfNames(["x".repeat(257), ""])] }];
  expect(reader.read({ outputs: long }, 1)).toEqual([{}]);
});

test.each<readonly [string, readonly ClientOutput[]]>([
  ["a number", [{ name: "y", datatype: "FP32", rowShape: [] }]],
  ["an image", [{ name: "y", datatype: "FP32", rowShape: [8, 8] }]],
  ["of any length", [{ name: "y", datatype: "FP32", rowShape: [-1] }]],
  ["only for those who ask", [{ ...SCORES, isInternal: true }]],
  ["classes of two kinds", [SCORES, { name: "z", datatype: "FP32", rowShape: [5] }]],
])("an output that is %s is no class", (_what, outputs) => {
  const reader = readerOf(outputs);
  expect(reader.read({ outputs: outputs.map(() => floats([1], [1])) }, 1)).toBeUndefined();
});

test("in a cascade the last task that a row reached decides, for requests of one row", () => {
  const reader = readerOf([SCORES, { ...SCORES, name: "large.scores" }], false);
  const first = floats([1, 3], [0, 1, 0]);
  const ended = { outputs: [first, floats([0, 3], [])] };
  const passed = { outputs: [first, floats([1, 3], [0, 0, 1])] };
  expect(reader.read(ended, 1)).toEqual([{ index: 1 }]);
  expect(reader.read(passed, 1)).toEqual([{ index: 2 }]);
  expect(reader.read({ outputs: [floats([2, 3], [0, 1, 0, 1, 0, 0]), first] }, 2)).toBeUndefined();
});
