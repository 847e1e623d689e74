/** A batch as the messages of gRPC: ModelInferRequest with raw contents, ModelInferResponse. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { Metadata } from "@grpc/grpc-js";
import type { TensorInfo } from "../bundle/schema.ts";
import { type GivenTensor, givenShape, lengthOf, protocolTypeOf } from "../exec/v2-codec.ts";
import {
  ModelInferRequestSchema,
  ModelInferResponseSchema,
} from "../server/grpc/pb/inference-pb.ts";
import { type AskedBatch, type BatchAnswer, msOf } from "./v2-connection.ts";

/** The field of raw contents in a request, and the type of its bytes. */
const [RAW_FIELD, BYTES] = [7, 2];

/** @throws Error for a tensor that is to come from another worker. */
export function requestBytes({ model, id, inputs, outputs }: AskedBatch): Uint8Array {
  const head = create(ModelInferRequestSchema, {
    modelName: model,
    id,
    inputs: inputs.map(({ info, shape, stayed }) => {
      if (stayed !== undefined) throw new Error(`input "${info.name}": its bytes are elsewhere`);
      const datatype = protocolTypeOf(info.dtype);
      return { name: info.name, datatype, shape: shape.map((size) => BigInt(size)) };
    }),
    outputs: outputs.map(({ name }) => ({ name })),
  });
  // Fields may follow one another in any number of pieces: the tensors are copied once.
  const parts: Uint8Array[] = [toBinary(ModelInferRequestSchema, head)];
  for (const { chunks } of inputs) {
    parts.push(new BinaryWriter().tag(RAW_FIELD, BYTES).uint32(lengthOf(chunks)).finish());
    parts.push(...chunks);
  }
  return Buffer.concat(parts);
}

/** @param metadata before the answer, and after it. @throws Error for what is no such answer. */
export function answerOf(
  bytes: Uint8Array,
  metadata: readonly Metadata[],
  wanted: readonly TensorInfo[],
): BatchAnswer {
  const { outputs: told, rawOutputContents: raw } = fromBinary(ModelInferResponseSchema, bytes);
  if (raw.length !== told.length) {
    const found = `${raw.length} for ${told.length} outputs`;
    throw new Error(`expected raw_output_contents of every output, got ${found}`);
  }
  const outputs = wanted.map((info): GivenTensor => {
    const index = told.findIndex(({ name }) => name === info.name);
    const [tensor, contents] = [told[index], raw[index]];
    if (tensor === undefined || contents === undefined) {
      throw new Error(`output "${info.name}" is missing`);
    }
    const shape = givenShape(info, tensor.datatype, tensor.shape.map(Number));
    // Views on the answer begin anywhere, and whoever takes them wants to read numbers in place.
    return { shape, bytes: new Uint8Array(contents) };
  });
  return {
    outputs,
    wallMs: toldMs(metadata, "stratagem-wall-ms"),
    cpuMs: toldMs(metadata, "stratagem-cpu-ms"),
  };
}

function toldMs(metadata: readonly Metadata[], name: string): number | null {
  return msOf(metadata.flatMap((one) => one.get(name)).find((value) => typeof value === "string"));
}
