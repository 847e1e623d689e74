import { expect, test } from "vitest";
import { randomInputs } from "../../../compiler/onnx/batch-inputs.ts";
import { describeMachine } from "../../../compiler/profile/machine.ts";
import { halfToNumber } from "../../../runtime/core/half.ts";

function model(dtype: string, shape: readonly number[]) {
  return { file: "m", sha256: "0", inputs: [{ name: "x", dtype, shape }], outputs: [] };
}

test("gives the same numbers in [0, 1) for a seed, rows times the row", () => {
  const [bytes = new Uint8Array()] = randomInputs(model("float32", [-1, 3, 5]), 4, 7);
  const values = new Float32Array(bytes.buffer);
  expect(values).toHaveLength(4 * 15);
  expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
  expect(new Set(values).size).toBeGreaterThan(50);
  expect(randomInputs(model("float32", [-1, 3, 5]), 4, 7)).toEqual([bytes]);
});

test("half floats are numbers in [0, 1] too", () => {
  const [bytes = new Uint8Array()] = randomInputs(model("float16", [-1, 3, 5]), 4, 7);
  const values = Array.from(new Uint16Array(bytes.buffer), halfToNumber);
  expect(values).toHaveLength(4 * 15);
  expect(values.every((value) => value >= 0 && value <= 1)).toBe(true);
  expect(new Set(values).size).toBeGreaterThan(50);
});

test("what may be indices is 0", () => {
  expect(randomInputs(model("int64", [-1, 2]), 3, 7)).toEqual([new Uint8Array(48)]);
});

test("describes this machine", () => {
  expect(describeMachine()).toMatchObject({
    processor: expect.stringMatching(/^[^|\n]{1,100}$/),
    cores: expect.any(Number),
    onnxruntimeVersion: expect.stringMatching(/^\d+\.\d+/),
  });
});
