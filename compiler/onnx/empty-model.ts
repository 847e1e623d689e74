/** Model that computes nothing, to measure the fixed cost of a run. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { StageBytes } from "./layered-model.ts";
import { ModelProtoSchema, TensorProto_DataType } from "./onnx-pb.ts";

/** IR version of 2018, which every current engine reads. */
const IR_VERSION = 3n;
const OPSET = 8n;

/**
 * Encodes a model that copies one number. Its run time is the fixed cost of every run. The fastest
 * layer is no substitute: it also computes, which is most of its time in a model of few layers.
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
