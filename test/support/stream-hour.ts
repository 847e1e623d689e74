/** A sequence of requests over one gRPC stream, each answer beside what onnxruntime says itself. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { InferenceSession, Tensor } from "onnxruntime-node";
import * as pb from "../../runtime/server/grpc/pb/inference-pb.ts";
import { floatsOf, parameter, SERVICE, TestClient } from "../runtime/server/grpc/client.ts";

/** A second of sound is 31.25 chunks of 32 ms. */
export const HOUR_CHUNKS = 112_500;

/** Requests that are sent before the first of them is answered. */
const WINDOW = 16;

export interface Stream {
  readonly grpcUrl: string;
  /** As clients call the model, its input and its output. */
  readonly names: { readonly model: string; readonly input: string; readonly output: string };
  readonly count: number;
  /** Of a chunk, by its number: one row of the input. */
  readonly chunk: (index: number) => Float32Array;
  readonly direct: DirectModel;
}

export interface DirectModel {
  readonly file: string;
  /** Names of the file's input and output. */
  readonly input: string;
  readonly output: string;
  /** Outputs of the file by the inputs that they go to next, and what those are at first. */
  readonly state: Readonly<Record<string, { readonly from: string; readonly shape: number[] }>>;
  readonly constants?: Readonly<Record<string, Tensor>>;
}

export interface StreamTold {
  readonly answers: number;
  readonly seconds: number;
  /** Answers that are not what onnxruntime says to the last bit, and by how much at most. */
  readonly different: number;
  readonly largestDifference: number;
}

export async function streamAll(stream: Stream): Promise<StreamTold> {
  const { grpcUrl, count, chunk, direct } = stream;
  const client = new TestClient(grpcUrl);
  const call = client.duplex(`${SERVICE}/ModelStreamInfer`);
  const beginMs = performance.now();
  let sent = 0;
  const send = () => {
    if (sent === count) return;
    call.write(requestOf(stream, sent++));
    if (sent === count) call.end();
  };
  for (let index = 0; index < Math.min(WINDOW, count); index++) send();
  const session = await InferenceSession.create(direct.file, { intraOpNumThreads: 1 });
  let state = zerosOf(direct);
  let [answers, different, largestDifference] = [0, 0, 0];
  for await (const bytes of call) {
    const { inferResponse, errorMessage } = fromBinary(pb.ModelStreamInferResponseSchema, bytes);
    if (errorMessage !== "") throw new Error(`request ${answers}: ${errorMessage}`);
    send();
    const told = floatsOf(inferResponse?.rawOutputContents[0]);
    const own = chunk(answers);
    const input = new Tensor("float32", own, [1, own.length]);
    const said = await session.run({ ...direct.constants, ...state, [direct.input]: input });
    state = nextOf(direct, said);
    const expected = Array.from(said[direct.output]?.data as Float32Array);
    const apart = Math.max(...expected.map((value, at) => Math.abs(value - (told[at] ?? NaN))));
    if (!expected.every((value, at) => Object.is(value, told[at]))) different++;
    largestDifference = Math.max(largestDifference, Number.isNaN(apart) ? Infinity : apart);
    answers++;
  }
  const seconds = (performance.now() - beginMs) / 1000;
  return { answers, seconds, different, largestDifference };
}

function requestOf({ names, count, chunk }: Stream, index: number): Uint8Array {
  const row = chunk(index);
  const request = create(pb.ModelInferRequestSchema, {
    modelName: names.model,
    inputs: [{ name: names.input, datatype: "FP32", shape: [1n, BigInt(row.length)] }],
    outputs: [{ name: names.output }],
    rawInputContents: [new Uint8Array(row.buffer, row.byteOffset, row.byteLength)],
    parameters: {
      sequence_id: parameter(1n),
      sequence_start: parameter(index === 0),
      sequence_end: parameter(index === count - 1),
    },
  });
  return toBinary(pb.ModelInferRequestSchema, request);
}

function zerosOf({ state }: DirectModel): Record<string, Tensor> {
  const zeros = Object.entries(state).map(([input, { shape }]) => {
    const size = shape.reduce((product, length) => product * length, 1);
    return [input, new Tensor("float32", new Float32Array(size), shape)];
  });
  return Object.fromEntries(zeros);
}

function nextOf(
  { state }: DirectModel,
  said: Awaited<ReturnType<InferenceSession["run"]>>,
): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(state).map(([input, { from }]) => {
      const tensor = said[from];
      if (tensor === undefined) throw new Error(`the model gives no ${from}`);
      return [input, tensor];
    }),
  );
}
