/** Counts the trained numbers of an ONNX model. */
import { GRAPH_INITIALIZER, MODEL_GRAPH } from "../onnx-graph.ts";
import { messagesOf, readVarint, valuesOf } from "../onnx-protobuf.ts";

/** Field numbers of onnx.proto, and its code of float32. */
const TENSOR_DIMS = 1;
const TENSOR_DATA_TYPE = 2;
const FLOAT = 1;

/**
 * Elements of a model's float32 initializers, after normalisations that the export folded into the
 * weights. @param file an ONNX model.
 */
export function countParameters(file: Uint8Array): number {
  let total = 0;
  for (const graph of messagesOf(file, MODEL_GRAPH)) {
    for (const tensor of messagesOf(graph, GRAPH_INITIALIZER)) {
      if (valuesOf(tensor, TENSOR_DATA_TYPE)[0] !== FLOAT) continue;
      total += dimensionsOf(tensor).reduce((product, dimension) => product * dimension, 1);
    }
  }
  return total;
}

/** A tensor's dimensions, written one by one or packed into one field. */
function dimensionsOf(tensor: Uint8Array): number[] {
  return valuesOf(tensor, TENSOR_DIMS).flatMap((field) => {
    if (typeof field === "number") return [field];
    const dimensions: number[] = [];
    for (let at = 0; at < field.length; ) {
      const [value, next] = readVarint(field, at);
      dimensions.push(value);
      at = next;
    }
    return dimensions;
  });
}
