import { readVarint, valuesOf } from "../onnx-protobuf.js";

/** Field numbers of onnx.proto. */
const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
const TENSOR_DIMS = 1;
const TENSOR_DATA_TYPE = 2;
const FLOAT = 1;

/**
 * Trained numbers in a model: the elements of its float32 initializers.
 * @param {Uint8Array} file an ONNX model.
 * @returns {number} elements, after normalisations that the export folded into the weights.
 */
export function countParameters(file) {
  let total = 0;
  for (const graph of valuesOf(file, MODEL_GRAPH)) {
    for (const tensor of valuesOf(graph, GRAPH_INITIALIZER)) {
      if (valuesOf(tensor, TENSOR_DATA_TYPE)[0] !== FLOAT) continue;
      total += dimensionsOf(tensor).reduce((product, dimension) => product * dimension, 1);
    }
  }
  return total;
}

/** A tensor's dimensions, written one by one or packed into one field. */
function dimensionsOf(tensor) {
  return valuesOf(tensor, TENSOR_DIMS).flatMap((field) => {
    if (typeof field === "number") return [field];
    const dimensions = [];
    for (let at = 0; at < field.length; ) {
      const [value, next] = readVarint(field, at);
      dimensions.push(value);
      at = next;
    }
    return dimensions;
  });
}
