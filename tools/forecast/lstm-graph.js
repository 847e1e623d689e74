import { bytes, integer, string } from "../onnx-protobuf.js";
import { partsOf, UNITS } from "./lstm.js";
import { HISTORY_SECONDS, WINDOW_COUNT, WINDOW_SECONDS } from "./trace.js";

/** Field numbers and codes of onnx.proto. */
const GRAPH_NODE = 1;
const GRAPH_NAME = 2;
const GRAPH_INITIALIZER = 5;
const GRAPH_INPUT = 11;
const GRAPH_OUTPUT = 12;
const FLOAT = 1;
const INT64 = 7;
const INTEGER = 2;
const INTEGERS = 7;
const FILE_FORMAT = 8;
const OPERATOR_SET = 13;

/** Below it a history's mean is taken for it: no load is no division by zero, and the forecast is next to nothing. */
const LEAST_SCALE_QPS = 1e-6;

/**
 * The forecaster as an ONNX model: `history` float32 [batch, 60], requests of the last seconds, oldest first, to `forecast` float32 [batch, 1], the
 * highest second of the next ten. Windows, scaling and network are all in the graph; a forecast is not below 0.
 * @param {Float64Array} parameters of a network from the windows' maxima, as shares of their mean, to the peak, likewise.
 * @returns {Uint8Array}
 */
export function lstmModelOf(parameters) {
  const { input, recurrent, bias, dense, denseBias } = partsOf(parameters);
  const gates = bias.length;
  const graph = [
    ...node("Reshape", ["history", "window_shape"], ["windows"]),
    ...node("ReduceMax", ["windows"], ["maxima"], { axes: [2], keepdims: 0 }),
    ...node("ReduceMean", ["maxima"], ["mean"], { axes: [1], keepdims: 1 }),
    ...node("Max", ["mean", "least_scale"], ["scale"]),
    ...node("Div", ["maxima", "scale"], ["shares"]),
    ...node("Transpose", ["shares"], ["steps"], { perm: [1, 0] }),
    ...node("Unsqueeze", ["steps", "last_axis"], ["sequence"]),
    ...node("LSTM", ["sequence", "input_weights", "recurrent_weights", "biases"], ["", "state"], {
      hidden_size: UNITS,
    }),
    ...node("Squeeze", ["state", "first_axis"], ["features"]),
    ...node("Gemm", ["features", "dense_weights", "dense_bias"], ["share"]),
    ...node("Mul", ["share", "scale"], ["peak"]),
    ...node("Relu", ["peak"], ["forecast"]),
    ...string(GRAPH_NAME, "forecast"),
    ...constant("window_shape", INT64, [3], [-1, WINDOW_COUNT, WINDOW_SECONDS]),
    ...constant("least_scale", FLOAT, [1], [LEAST_SCALE_QPS]),
    ...constant("last_axis", INT64, [1], [2]),
    ...constant("first_axis", INT64, [1], [0]),
    ...constant("input_weights", FLOAT, [1, gates, 1], input),
    ...constant("recurrent_weights", FLOAT, [1, gates, UNITS], recurrent),
    // ONNX has a second bias, of the recurrent weights.
    ...constant("biases", FLOAT, [1, 2 * gates], [...bias, ...new Array(gates).fill(0)]),
    ...constant("dense_weights", FLOAT, [UNITS, 1], dense),
    ...constant("dense_bias", FLOAT, [1], denseBias),
    ...bytes(GRAPH_INPUT, tensor("history", ["batch", HISTORY_SECONDS])),
    ...bytes(GRAPH_OUTPUT, tensor("forecast", ["batch", 1])),
  ];
  const operators = bytes(8, integer(2, OPERATOR_SET));
  return Uint8Array.from([...integer(1, FILE_FORMAT), ...bytes(7, graph), ...operators]);
}

function node(operator, inputs, outputs, attributes = {}) {
  return bytes(GRAPH_NODE, [
    ...inputs.flatMap((input) => string(1, input)),
    ...outputs.flatMap((output) => string(2, output)),
    ...string(4, operator),
    ...Object.entries(attributes).flatMap(([name, value]) => bytes(5, attribute(name, value))),
  ]);
}

function attribute(name, value) {
  return Array.isArray(value)
    ? [...string(1, name), ...value.flatMap((one) => integer(8, one)), ...integer(20, INTEGERS)]
    : [...string(1, name), ...integer(3, value), ...integer(20, INTEGER)];
}

function constant(name, type, shape, values) {
  const data =
    type === FLOAT ? Float32Array.from(values) : BigInt64Array.from(values, (one) => BigInt(one));
  return bytes(GRAPH_INITIALIZER, [
    ...shape.flatMap((size) => integer(1, size)),
    ...integer(2, type),
    ...string(8, name),
    ...bytes(9, new Uint8Array(data.buffer)),
  ]);
}

function tensor(name, shape) {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === "number" ? integer(1, size) : string(2, size)),
  );
  const type = bytes(1, [...integer(1, FLOAT), ...bytes(2, dimensions)]);
  return [...string(1, name), ...bytes(2, type)];
}
