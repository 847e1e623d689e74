/**
 * A ModelInferResponse on the wire: raw contents, or typed ones for a request that asks for those.
 * It is written field by field, which takes less than writing it by its schema does.
 */
import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { InferRequest } from "../protocol/infer-request.ts";
import {
  type AnsweredOutput,
  type AnswerParameters,
  answeredOutputs,
  answerParameters,
  bytesOf,
} from "../protocol/response.ts";
import type { Answer } from "../requests/request.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { InferTensorContentsSchema } from "./pb/inference-pb.ts";
import { contentsOf } from "./typed-answer.ts";
import { BITS_64, BYTES, VARINT } from "./wire.ts";

/** What an answer says beside its outputs. */
export interface ResponseHead {
  readonly modelName: string;
  /** Of the request; null where all have the same SLO. */
  readonly sloClass: string | null;
  /** Whether it comes on a stream, where it says that it is the last for its request. */
  readonly isStreamed: boolean;
}

/** @returns the message. */
export function inferResponseBytes(
  { modelName, sloClass, isStreamed }: ResponseHead,
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
): Uint8Array {
  const answered = answeredOutputs(request, answer, signature);
  const isRaw = answered.every(({ isBinary }) => isBinary);
  const writer = new BinaryWriter();
  writer.tag(1, BYTES).string(modelName).tag(2, BYTES).string("1");
  if (request.id !== undefined) writer.tag(3, BYTES).string(request.id);
  writeParameters(writer, answerParameters(answer, signature, sloClass), isStreamed);
  for (const output of answered) writeOutput(writer, output, isRaw);
  if (isRaw) for (const { parts } of answered) writer.tag(6, BYTES).bytes(bytesOf(parts));
  return writer.finish();
}

/** A ModelStreamInferResponse of an answer. */
export function streamedAnswer(response: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(2, BYTES).bytes(response).finish();
}

/**
 * A ModelStreamInferResponse of an error.
 * @param id of the request, by which its client knows which of several it was; "" without one.
 */
export function streamedError(message: string, id: string): Uint8Array {
  const writer = new BinaryWriter().tag(1, BYTES).string(message);
  if (id !== "") writer.tag(2, BYTES).fork().tag(3, BYTES).string(id).join();
  return writer.finish();
}

function writeOutput(
  writer: BinaryWriter,
  { name, datatype, shape, parts }: AnsweredOutput,
  isRaw: boolean,
): void {
  writer.tag(5, BYTES).fork().tag(1, BYTES).string(name).tag(2, BYTES).string(datatype);
  writer.tag(3, BYTES).fork();
  for (const size of shape) writer.int64(size);
  writer.join();
  if (!isRaw) {
    const contents = contentsOf(datatype, bytesOf(parts));
    writer.tag(5, BYTES).bytes(toBinary(InferTensorContentsSchema, contents));
  }
  writer.join();
}

/** A parameter is no list: several variants are the text of one. */
function writeParameters(
  writer: BinaryWriter,
  { variant, accuracy, variants, slo_class: sloClass }: AnswerParameters,
  isStreamed: boolean,
): void {
  const entry = (name: string, write: () => void) => {
    writer.tag(4, BYTES).fork().tag(1, BYTES).string(name).tag(2, BYTES).fork();
    write();
    writer.join().join();
  };
  const text = (name: string, value: string) =>
    entry(name, () => writer.tag(3, BYTES).string(value));
  text("variant", variant);
  entry("accuracy", () => writer.tag(4, BITS_64).double(accuracy));
  if (variants !== undefined) text("variants", JSON.stringify(variants));
  if (sloClass !== undefined) text("slo_class", sloClass);
  if (isStreamed) entry("triton_final_response", () => writer.tag(1, VARINT).bool(true));
}
