/** A client of gRPC for tests: messages by their schemas, over connections of grpc-js. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import type { OpenOptions } from "../../../../runtime/server/serve.ts";
import { type Harness, serve } from "../harness.ts";

export const SERVICE = "/inference.GRPCInferenceService";

const asIs = (bytes: Buffer) => bytes;
const OPEN: Client[] = [];

export interface UnaryOptions extends CallOptions {
  readonly metadata?: Metadata;
  /** Receives the call, to cancel it. */
  readonly onCall?: (call: ClientUnaryCall) => void;
}

export type RawStream = ClientDuplexStream<Uint8Array, Buffer>;

export class TestClient {
  readonly raw: Client;

  constructor(url: string, options: object = {}, keys = credentials.createInsecure()) {
    this.raw = new Client(url, keys, {
      "grpc.max_receive_message_length": -1,
      // A pool that other tests share would keep connections to servers that are gone.
      "grpc.use_local_subchannel_pool": 1,
      ...options,
    });
    OPEN.push(this.raw);
  }

  /** Rejects with a ServiceError. */
  bytes(path: string, message: Uint8Array, options: UnaryOptions = {}): Promise<Buffer> {
    const { onCall, metadata = new Metadata(), ...rest } = options;
    return new Promise((resolve, reject) => {
      const call = this.raw.makeUnaryRequest(
        path,
        (bytes: Uint8Array) => Buffer.from(bytes),
        asIs,
        message,
        metadata,
        rest,
        (error: ServiceError | null, answer?: Buffer) => {
          if (error === null && answer !== undefined) resolve(answer);
          else reject(error ?? new Error("no answer"));
        },
      );
      onCall?.(call);
    });
  }

  async call<I extends DescMessage, O extends DescMessage>(
    path: string,
    [input, output]: readonly [I, O],
    request: MessageInitShape<I>,
    options: UnaryOptions = {},
  ): Promise<MessageShape<O>> {
    const answer = await this.bytes(path, toBinary(input, create(input, request)), options);
    return fromBinary(output, answer);
  }

  infer(
    request: MessageInitShape<typeof pb.ModelInferRequestSchema>,
    options: UnaryOptions = {},
  ): Promise<pb.ModelInferResponse> {
    const schemas = [pb.ModelInferRequestSchema, pb.ModelInferResponseSchema] as const;
    return this.call(`${SERVICE}/ModelInfer`, schemas, request, options);
  }

  duplex(path: string, metadata = new Metadata()): RawStream {
    return this.raw.makeBidiStreamRequest(
      path,
      (bytes: Uint8Array) => Buffer.from(bytes),
      asIs,
      metadata,
      {},
    );
  }

  readable(path: string, message: Uint8Array): ClientReadableStream<Buffer> {
    const write = (bytes: Uint8Array) => Buffer.from(bytes);
    return this.raw.makeServerStreamRequest(path, write, asIs, message, new Metadata(), {});
  }
}

export interface GrpcHarness extends Harness {
  readonly client: TestClient;
}

/** As `serve` of the harness, with the gRPC door open. */
export async function serveGrpc(
  options: Parameters<typeof serve>[0] = {},
  ready?: Parameters<typeof serve>[1],
): Promise<GrpcHarness> {
  const grpc: OpenOptions["grpc"] = { host: "127.0.0.1", port: 0, maxStreams: 256 };
  const harness = await serve({ grpc, ...options }, ready);
  return { ...harness, client: new TestClient(harness.server.grpcUrl ?? "") };
}

export function closeClients(): void {
  for (const client of OPEN.splice(0)) client.close();
}

/** Little-endian bytes of 32-bit floats. */
export function floats(values: readonly number[]): Uint8Array {
  return new Uint8Array(new Float32Array(values).buffer);
}

export function floatsOf(bytes: Uint8Array | undefined): number[] {
  const view = new DataView(Uint8Array.from(bytes ?? []).buffer);
  return Array.from({ length: view.byteLength / 4 }, (_, at) => view.getFloat32(4 * at, true));
}

/** A request for the model `tiny` with raw rows of two numbers. */
export function rawRequest(
  rows: readonly (readonly number[])[],
  more: MessageInitShape<typeof pb.ModelInferRequestSchema> = {},
): MessageInitShape<typeof pb.ModelInferRequestSchema> {
  return {
    modelName: "tiny",
    inputs: [{ name: "x", datatype: "FP32", shape: [BigInt(rows.length), 2n] }],
    rawInputContents: [floats(rows.flat())],
    ...more,
  };
}

type Choice = pb.InferParameter["parameterChoice"];

export function parameter(value: string | number | boolean | bigint): {
  parameterChoice: Choice;
} {
  const choice: Choice =
    typeof value === "string"
      ? { case: "stringParam", value }
      : typeof value === "boolean"
        ? { case: "boolParam", value }
        : typeof value === "bigint"
          ? { case: "int64Param", value }
          : { case: "doubleParam", value };
  return { parameterChoice: choice };
}

/** Of each message of a stream, in order; rejects with the status it ends with. */
export async function* messagesOf<S extends DescMessage>(
  schema: S,
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<MessageShape<S>, undefined> {
  for await (const bytes of stream) yield fromBinary(schema, bytes);
  return undefined;
}
