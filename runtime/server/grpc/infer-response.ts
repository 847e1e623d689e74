/**
 * Encodes a ModelInferResponse with raw contents, or typed ones on request. Writing it field by
 * field is faster than by its schema.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { JsonThread } from "../json/json-thread.ts";
import type { InferRequest } from "../protocol/infer-request.ts";
import {
  type AnsweredOutput,
  answeredOutputs,
  answerParameters,
  bytesOf,
  type ResponseHead,
} from "../protocol/response.ts";
import type { Answer } from "../requests/request.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { copied } from "../tensors/slices.ts";
import { lengthOf } from "../tensors/tensors.ts";
import { typedContentsOf } from "./contents/typed-answer.ts";
import { BITS_64, BYTES, VARINT } from "./contents/wire.ts";
import { joined } from "./long-message.ts";

interface GrpcResponseHead extends ResponseHead {
  /** Whether it is sent on a stream, where it is marked as the last one for its request. */
  readonly isStreamed: boolean;
}

/** Maximum bytes of an answer that are encoded as typed contents on the event loop: some 5 ms. */
const MAX_LOOP_BYTES = 65_536;

/**
 * Writes a ModelInferResponse, or a ModelStreamInferResponse of it on a stream.
 * @param thread encodes long outputs as typed contents.
 */
export function inferResponseBytes(
  head: GrpcResponseHead,
  request: InferRequest,
  answer: Answer,
  signature: ClientSignature,
  thread: Pick<JsonThread, "typed">,
): Uint8Array | Promise<Uint8Array> {
  const answered = answeredOutputs(request, answer, signature);
  const isRaw = answered.every(({ isBinary }) => isBinary);
  const written = (typed: readonly Uint8Array[]) => {
    const writer = new BinaryWriter();
    writer.tag(1, BYTES).string(head.modelName).tag(2, BYTES).string("1");
    if (request.id !== undefined) writer.tag(3, BYTES).string(request.id);
    writeParameters(writer, answerParameters(answer, signature, head), head.isStreamed);
    if (isRaw) for (const output of answered) writer.tag(5, BYTES).bytes(described(output));
    const pieces: Uint8Array[] = [writer.finish()];
    for (const [index, output] of answered.entries()) {
      const contents = typed[index];
      if (contents === undefined) pieces.push(...delimited(6, output.parts));
      else pieces.push(...delimited(5, [described(output), ...delimited(5, [contents])]));
    }
    return joined(head.isStreamed ? delimited(2, pieces) : pieces);
  };
  if (isRaw) return written([]);
  if (answered.reduce((sum, { parts }) => sum + lengthOf(parts), 0) <= MAX_LOOP_BYTES) {
    return written(
      answered.map(({ datatype, parts }) => typedContentsOf(datatype, bytesOf(parts))),
    );
  }
  const typed = answered.map(async ({ datatype, parts }) =>
    thread.typed(datatype, await copied(parts)),
  );
  return Promise.all(typed).then(written);
}

/** Puts pieces into a field. */
function delimited(field: number, pieces: readonly Uint8Array[]): Uint8Array[] {
  return [new BinaryWriter().tag(field, BYTES).uint32(lengthOf(pieces)).finish(), ...pieces];
}

/** Fields of an output other than its elements. */
function described({ name, datatype, shape }: AnsweredOutput): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, BYTES).string(name).tag(2, BYTES).string(datatype);
  writer.tag(3, BYTES).fork();
  for (const size of shape) writer.int64(size);
  return writer.join().finish();
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

function writeParameters(
  writer: BinaryWriter,
  parameters: Readonly<Record<string, string | number>>,
  isStreamed: boolean,
): void {
  const entry = (name: string, write: () => void) => {
    writer.tag(4, BYTES).fork().tag(1, BYTES).string(name).tag(2, BYTES).fork();
    write();
    writer.join().join();
  };
  for (const [name, value] of Object.entries(parameters)) {
    entry(name, () => {
      if (typeof value === "string") writer.tag(3, BYTES).string(value);
      else writer.tag(4, BITS_64).double(value);
    });
  }
  if (isStreamed) entry("triton_final_response", () => writer.tag(1, VARINT).bool(true));
}
