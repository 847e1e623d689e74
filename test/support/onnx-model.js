// The smallest ONNX models there are, written as protobuf by hand: float32 "x" [batch, width] in,
// float32 "y" out.

import { bytes, integer, string } from "../../tools/onnx-protobuf.js";

/** y = x. */
export function identityModel(width) {
  const node = [...string(1, "x"), ...string(2, "y"), ...string(4, "Identity")];
  return model([...bytes(1, node), ...tensors(width, width)]);
}

/** y = x W with W[i, j] = 1 / width: every output is the mean of the row. */
export function meanModel(width, outputs) {
  const node = [...string(1, "x"), ...string(1, "w"), ...string(2, "y"), ...string(4, "MatMul")];
  const weights = new Uint8Array(new Float32Array(width * outputs).fill(1 / width).buffer);
  const initializer = [
    ...integer(1, width),
    ...integer(1, outputs),
    ...integer(2, 1),
    ...string(8, "w"),
    ...bytes(9, weights),
  ];
  return model([...bytes(1, node), ...bytes(5, initializer), ...tensors(width, outputs)]);
}

/** Operator set 13, in the file format that came with it. */
function model(graph) {
  const named = [...graph, ...string(2, "graph")];
  return Uint8Array.from([...integer(1, 8), ...bytes(7, named), ...bytes(8, integer(2, 13))]);
}

function tensors(inputWidth, outputWidth) {
  return [...bytes(11, tensor("x", inputWidth)), ...bytes(12, tensor("y", outputWidth))];
}

function tensor(name, width) {
  const shape = [...bytes(1, string(2, "batch")), ...bytes(1, integer(1, width))];
  return [...string(1, name), ...bytes(2, bytes(1, [...integer(1, 1), ...bytes(2, shape)]))];
}
