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
  for (const graph of fieldsOf(file, MODEL_GRAPH)) {
    for (const tensor of fieldsOf(graph, GRAPH_INITIALIZER)) {
      if (fieldsOf(tensor, TENSOR_DATA_TYPE)[0] !== FLOAT) continue;
      total += dimensionsOf(tensor).reduce((product, dimension) => product * dimension, 1);
    }
  }
  return total;
}

/** A tensor's dimensions, written one by one or packed into one field. */
function dimensionsOf(tensor) {
  return fieldsOf(tensor, TENSOR_DIMS).flatMap((field) => {
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

/** Every value of one field of a protobuf message: numbers, or bytes for what has a length. */
function fieldsOf(message, wanted) {
  const found = [];
  let at = 0;
  while (at < message.length) {
    const [key, start] = readVarint(message, at);
    const wireType = key % 8;
    const isWanted = Math.floor(key / 8) === wanted;
    if (wireType === 0) {
      const [value, next] = readVarint(message, start);
      if (isWanted) found.push(value);
      at = next;
    } else if (wireType === 2) {
      const [length, next] = readVarint(message, start);
      if (isWanted) found.push(message.subarray(next, next + length));
      at = next + length;
    } else if (wireType === 1 || wireType === 5) {
      at = start + (wireType === 1 ? 8 : 4);
    } else {
      throw new Error(`byte ${at}: expected an ONNX model, found protobuf wire type ${wireType}`);
    }
  }
  return found;
}

/** A number and the place after it. */
function readVarint(bytes, start) {
  let value = 0;
  let factor = 1;
  for (let at = start; at < bytes.length; at++) {
    value += (bytes[at] % 128) * factor;
    factor *= 128;
    if (bytes[at] < 128) return [value, at + 1];
  }
  throw new Error(`byte ${start}: expected an ONNX model, found the end of the file`);
}
