/** The forecaster as an ONNX model, with windows and scaling in the graph. */
import {
  HISTORY_BEATS,
  WINDOW_BEATS,
  WINDOW_COUNT,
} from "stratagem-runtime/internal/core/forecasters";
import { type GraphConstant, type GraphNode, onnxModel } from "../onnx-graph.ts";
import { partsOf, UNITS } from "./lstm.ts";

/** Below it a history's mean is taken for it: no load is no division by zero. */
const LEAST_SCALE_QPS = 1e-6;

const NODES: readonly GraphNode[] = [
  { op: "Reshape", inputs: ["history", "window_shape"], output: "windows" },
  {
    op: "ReduceMax",
    inputs: ["windows"],
    output: "maxima",
    attributes: { axes: [2], keepdims: 0 },
  },
  { op: "ReduceMean", inputs: ["maxima"], output: "mean", attributes: { axes: [1], keepdims: 1 } },
  { op: "Max", inputs: ["mean", "least_scale"], output: "scale" },
  { op: "Div", inputs: ["maxima", "scale"], output: "shares" },
  { op: "Transpose", inputs: ["shares"], output: "steps", attributes: { perm: [1, 0] } },
  { op: "Unsqueeze", inputs: ["steps", "last_axis"], output: "sequence" },
  {
    op: "LSTM",
    inputs: ["sequence", "input_weights", "recurrent_weights", "biases"],
    output: ["", "state"],
    attributes: { hidden_size: UNITS },
  },
  { op: "Squeeze", inputs: ["state", "first_axis"], output: "features" },
  { op: "Gemm", inputs: ["features", "dense_weights", "dense_bias"], output: "share" },
  { op: "Mul", inputs: ["share", "scale"], output: "peak" },
  { op: "Relu", inputs: ["peak"], output: "forecast" },
];

/**
 * A model from `history` float32 [batch, 60], requests of the last seconds, oldest first, to
 * `forecast` float32 [batch, 1], the highest second of the next ten, which is not below 0.
 * @param parameters of a network from the windows' maxima, as shares of their mean, to the peak,
 * likewise.
 */
export function lstmModelOf(parameters: Float64Array): Uint8Array<ArrayBuffer> {
  const { input, recurrent, bias, dense, denseBias } = partsOf(parameters);
  const gates = bias.length;
  const windowShape = [-1, WINDOW_COUNT, WINDOW_BEATS];
  // ONNX has a second bias, of the recurrent weights.
  const biases = [...bias, ...new Array<number>(gates).fill(0)];
  const constants: readonly GraphConstant[] = [
    { name: "window_shape", type: "int64", shape: [3], values: windowShape },
    { name: "least_scale", type: "float32", shape: [1], values: [LEAST_SCALE_QPS] },
    { name: "last_axis", type: "int64", shape: [1], values: [2] },
    { name: "first_axis", type: "int64", shape: [1], values: [0] },
    { name: "input_weights", type: "float32", shape: [1, gates, 1], values: input },
    { name: "recurrent_weights", type: "float32", shape: [1, gates, UNITS], values: recurrent },
    { name: "biases", type: "float32", shape: [1, 2 * gates], values: biases },
    { name: "dense_weights", type: "float32", shape: [UNITS, 1], values: dense },
    { name: "dense_bias", type: "float32", shape: [1], values: denseBias },
  ];
  return onnxModel({
    name: "forecast",
    nodes: NODES,
    constants,
    inputs: [{ name: "history", type: "float32", shape: ["batch", HISTORY_BEATS] }],
    outputs: [{ name: "forecast", type: "float32", shape: ["batch", 1] }],
  });
}
