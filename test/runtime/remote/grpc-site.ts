/** A v2 server over gRPC that is none of ours, as far as a worker needs one. */
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import * as pb from "../../../runtime/server/grpc/pb/inference-pb.ts";
import { closing, WIDTH } from "./remote-site.ts";

type Call = ServerUnaryCall<Uint8Array, Uint8Array>;
type Reply = sendUnaryData<Uint8Array>;
/** Answers a call with a message, or refuses it. */
type Handle = (call: Call, reply: Reply) => void;

export interface GrpcSite {
  readonly url: string;
  /** Of every batch, as it came. */
  readonly ids: string[];
  /** What came with every batch. */
  readonly heads: Metadata[];
  /** Of every batch, as milliseconds since 1970. */
  readonly deadlinesMs: number[];
  readonly loads: { readonly model: string; readonly parameters: Record<string, unknown> }[];
  readonly server: Server;
}

export interface GrpcSiteOptions {
  /** Of `m`; left out, none. */
  readonly config?: { readonly dynamicBatching?: boolean; readonly maxBatchSize?: number };
  /** In place of giving back what came. */
  readonly infer?: (request: Uint8Array, reply: Reply, call: Call) => void;
  /** Whether `m` is there from the start; left out, it is. */
  readonly isLoaded?: boolean;
  readonly port?: number;
}

/** What an inference request gives: its tensors, as `y`. */
export function echoed(message: Uint8Array): Uint8Array {
  const { modelName, id, inputs, rawInputContents } = fromBinary(
    pb.ModelInferRequestSchema,
    message,
  );
  return bytesOf(pb.ModelInferResponseSchema, {
    modelName,
    id,
    outputs: inputs.map(({ datatype, shape }) => ({ name: "y", datatype, shape })),
    rawOutputContents: rawInputContents,
  });
}

export async function grpcSite(options: GrpcSiteOptions = {}): Promise<GrpcSite> {
  const site: Omit<GrpcSite, "url" | "server"> = {
    ids: [],
    heads: [],
    deadlinesMs: [],
    loads: [],
  };
  let isLoaded = options.isLoaded ?? true;
  const server = new Server();
  const serve = (name: string, handle: Handle) => {
    const path = `/inference.GRPCInferenceService/${name}`;
    server.register(path, handle as never, Buffer.from, (bytes: Buffer) => bytes, "unary");
  };
  const tensor = { datatype: "FP32", shape: [-1n, BigInt(WIDTH)] };
  const missing = { code: status.NOT_FOUND, details: "Request for unknown model" };
  serve("ServerReady", (_, reply) => {
    reply(null, bytesOf(pb.ServerReadyResponseSchema, { ready: true }));
  });
  serve("ModelMetadata", ({ request }, reply) => {
    const { name } = fromBinary(pb.ModelMetadataRequestSchema, request);
    if (name !== "m" || !isLoaded) return reply(missing);
    const [inputs, outputs] = [[{ name: "x", ...tensor }], [{ name: "y", ...tensor }]];
    reply(null, bytesOf(pb.ModelMetadataResponseSchema, { name, inputs, outputs }));
  });
  serve("RepositoryModelLoad", ({ request }, reply) => {
    const { modelName: model, parameters } = fromBinary(
      pb.RepositoryModelLoadRequestSchema,
      request,
    );
    if (model !== "m") return reply(missing);
    const told = Object.entries(parameters).map(([name, one]) => [name, one.parameterChoice.value]);
    site.loads.push({ model, parameters: Object.fromEntries(told) });
    isLoaded = true;
    reply(null, new Uint8Array());
  });
  const { config, infer } = options;
  if (config !== undefined) {
    const { dynamicBatching = false, maxBatchSize = 0 } = config;
    const value = create(pb.ModelDynamicBatchingSchema);
    serve("ModelConfig", (_, reply) => {
      const choice = dynamicBatching
        ? { schedulingChoice: { case: "dynamicBatching", value } as const }
        : {};
      reply(null, bytesOf(pb.ModelConfigResponseSchema, { config: { maxBatchSize, ...choice } }));
    });
  }
  serve("ModelInfer", (call, reply) => {
    site.ids.push(fromBinary(pb.ModelInferRequestSchema, call.request).id);
    site.heads.push(call.metadata);
    site.deadlinesMs.push(Number(call.getDeadline()));
    if (infer === undefined) reply(null, echoed(call.request));
    else infer(call.request, reply, call);
  });
  const port = await new Promise<number>((resolve, reject) => {
    const address = `127.0.0.1:${options.port ?? 0}`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  closing.push(() => server.forceShutdown());
  return { ...site, url: `grpc://127.0.0.1:${port}`, server };
}

function bytesOf<S extends DescMessage>(schema: S, init: Parameters<typeof create<S>>[1]): Buffer {
  return Buffer.from(toBinary(schema, create(schema, init)));
}
