/**
 * The smallest ONNX models there are: float32 "x" [batch, width] in, float32 "y" out; and one of
 * strings.
 */
import { onnxModel } from "../../lab/models/onnx-graph.ts";

/** y = x. */
export function identityModel(width: number): Uint8Array<ArrayBuffer> {
  return onnxModel({
    nodes: [{ op: "Identity", inputs: ["x"], output: "y" }],
    inputs: [{ name: "x", type: "float32", shape: ["batch", width] }],
    outputs: [{ name: "y", type: "float32", shape: ["batch", width] }],
  });
}

/** y = x W with W[i, j] = 1 / width: every output is the mean of the row. */
export function meanModel(width: number, outputs: number): Uint8Array<ArrayBuffer> {
  const values = new Float32Array(width * outputs).fill(1 / width);
  return onnxModel({
    nodes: [{ op: "MatMul", inputs: ["x", "w"], output: "y" }],
    constants: [{ name: "w", type: "float32", shape: [width, outputs], values }],
    inputs: [{ name: "x", type: "float32", shape: ["batch", width] }],
    outputs: [{ name: "y", type: "float32", shape: ["batch", outputs] }],
  });
}

/**
 * Strings "words" [batch, 2] in; out "numbers", what they say in float32 [batch, 2], and "twice",
 * the same strings and once more [batch, 4].
 */
export function stringModel(): Uint8Array<ArrayBuffer> {
  const FLOAT = 1;
  return onnxModel({
    nodes: [
      { op: "Cast", inputs: ["words"], output: "numbers", attributes: { to: FLOAT } },
      { op: "Concat", inputs: ["words", "words"], output: "twice", attributes: { axis: 1 } },
    ],
    inputs: [{ name: "words", type: "string", shape: ["batch", 2] }],
    outputs: [
      { name: "numbers", type: "float32", shape: ["batch", 2] },
      { name: "twice", type: "string", shape: ["batch", 4] },
    ],
  });
}
