/** Makes a model that computes nothing, to measure what every run takes. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { StageBytes } from "./layered-model.ts";
import { ModelProtoSchema, TensorProto_DataType } from "./onnx-pb.ts";

/** Of 2018: every engine of today reads them. */
const IR_VERSION = 3n;
const OPSET = 8n;

/**
 * A model that hands one number on. A run of it takes what every run takes whatever it computes;
 * the least time of a layer would also hold what that layer computes, which is the most of it in a
 * model of few layers.
 */
export function emptyModel(): StageBytes {
  const shape = { dim: [{ value: { case: "dimValue", value: 1n } as const }] };
  const tensorType = { elemType: TensorProto_DataType.FLOAT, shape };
  const type = { value: { case: "tensorType", value: tensorType } as const };
  const model = create(ModelProtoSchema, {
    irVersion: IR_VERSION,
    opsetImport: [{ domain: "", version: OPSET }],
    graph: {
      name: "empty",
      node: [{ opType: "Identity", input: ["x"], output: ["y"] }],
      input: [{ name: "x", type }],
      output: [{ name: "y", type }],
    },
  });
  return {
    bytes: toBinary(ModelProtoSchema, model),
    inputs: [{ name: "x", dtype: "float32", shape: [1] }],
    outputs: [{ name: "y", dtype: "float32", shape: [1] }],
  };
}
