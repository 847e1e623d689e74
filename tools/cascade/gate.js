import { bytes, fieldsOf, integer, string } from "../onnx-protobuf.js";

/** Field numbers and codes of onnx.proto. */
const MODEL_GRAPH = 7;
const GRAPH_NODE = 1;
const GRAPH_INITIALIZER = 5;
const GRAPH_OUTPUT = 12;
const INTEGER = 2;
const INTEGERS = 7;
const FLOAT = 1;
const UINT8 = 2;
const INT64 = 7;

/**
 * A classifier that also says of each row whether it is sure: the model as it is, and nodes behind its logits. It gives, besides `logits`,
 * `escalate` int64 [batch], 1 where the largest probability is below the threshold and 0 elsewhere, and `image`, the pixels as they came.
 * @param {Uint8Array} model ONNX, operator set 13, from `pixels` uint8 [batch, width] to `logits` float32 [batch, classes].
 * @param {number} threshold probability from 0 to 1, compared in float32.
 * @param {number} width of a row of pixels.
 * @returns {Uint8Array}
 */
export function gateOf(model, threshold, width) {
  const parts = fieldsOf(model).map(({ number, value, bytes: written }) =>
    number === MODEL_GRAPH ? bytes(MODEL_GRAPH, extended(value, threshold, width)) : written,
  );
  return Uint8Array.from(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
}

/** Fields of one kind may come in any order among the others, so what is added comes last. */
function extended(graph, threshold, width) {
  return [
    ...graph,
    ...node("Softmax", ["logits"], "probabilities", [["axis", 1]]),
    ...node("ReduceMax", ["probabilities"], "confidence", [
      ["axes", [1]],
      ["keepdims", 0],
    ]),
    ...node("Less", ["confidence", "threshold"], "is_unsure"),
    ...node("Cast", ["is_unsure"], "escalate", [["to", INT64]]),
    ...node("Identity", ["pixels"], "image"),
    ...bytes(GRAPH_INITIALIZER, scalar("threshold", threshold)),
    ...bytes(GRAPH_OUTPUT, tensor("escalate", INT64, ["batch"])),
    ...bytes(GRAPH_OUTPUT, tensor("image", UINT8, ["batch", width])),
  ];
}

function node(operator, inputs, output, attributes = []) {
  return bytes(GRAPH_NODE, [
    ...inputs.flatMap((input) => string(1, input)),
    ...string(2, output),
    ...string(4, operator),
    ...attributes.flatMap(([name, value]) => bytes(5, attribute(name, value))),
  ]);
}

function attribute(name, value) {
  return Array.isArray(value)
    ? [...string(1, name), ...value.flatMap((one) => integer(8, one)), ...integer(20, INTEGERS)]
    : [...string(1, name), ...integer(3, value), ...integer(20, INTEGER)];
}

function scalar(name, value) {
  const data = new Uint8Array(Float32Array.of(value).buffer);
  return [...integer(2, FLOAT), ...string(8, name), ...bytes(9, data)];
}

function tensor(name, type, shape) {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === "number" ? integer(1, size) : string(2, size)),
  );
  return [
    ...string(1, name),
    ...bytes(2, bytes(1, [...integer(1, type), ...bytes(2, dimensions)])),
  ];
}
