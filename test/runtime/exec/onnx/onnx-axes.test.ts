import fc from "fast-check";
import { expect, test } from "vitest";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import { firstAxisNames } from "../../../../runtime/exec/onnx/onnx-axes.ts";
import { identityModel } from "../../../support/onnx-model.ts";

test("reads the name of the first dimension of every input and output", () => {
  const model = onnxModel({
    inputs: [{ name: "x", type: "float32", shape: ["rows", 3] }],
    outputs: [
      { name: "boxes", type: "float32", shape: ["total", "coordinates"] },
      { name: "fixed", type: "float32", shape: [4, "other"] },
      { name: "scalar", type: "float32", shape: [] },
    ],
    nodes: [],
    constants: [{ name: "c", type: "float32", shape: [2], values: [1, 2] }],
  });
  expect(firstAxisNames(model)).toEqual({ x: "rows", boxes: "total" });
  expect(firstAxisNames(identityModel(3))).toEqual({ x: "batch", y: "batch" });
});

test("takes whatever is no model for one without names", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(firstAxisNames(bytes)).toEqual({});
    }),
  );
  const model = identityModel(3);
  for (let length = 0; length < model.length; length++) firstAxisNames(model.subarray(0, length));
});
