/** GRPCInferenceService: all RPCs, and the errors of those that are not supported. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import { type HostedModel, hostedModel } from "../applications/hosted-model.ts";
import { loadModel, refuseUnload, repositoryIndex } from "../applications/repository.ts";
import { HttpError } from "../connections/http-error.ts";
import { NO_MEMORY } from "../protocol/absent.ts";
import {
  modelConfig,
  modelMetadata,
  modelStatistics,
  serverMetadata,
} from "../protocol/descriptions.ts";
import { registerAnswer, registerDuplex, registerUnary } from "./calls.ts";
import type { GrpcContext } from "./context.ts";
import { inferMessage } from "./infer.ts";
import type { InferStreams } from "./infer-stream.ts";
import * as pb from "./pb/inference-pb.ts";

export const INFERENCE_PATH = "/inference.GRPCInferenceService";

const UNIMPLEMENTED: Readonly<Record<string, string>> = {
  SystemSharedMemoryStatus: NO_MEMORY,
  SystemSharedMemoryRegister: NO_MEMORY,
  SystemSharedMemoryUnregister: NO_MEMORY,
  CudaSharedMemoryStatus: NO_MEMORY,
  CudaSharedMemoryRegister: NO_MEMORY,
  CudaSharedMemoryUnregister: NO_MEMORY,
};

export function registerInference(
  server: Server,
  context: GrpcContext,
  streams: InferStreams,
): void {
  registerUnary(server, context, `${INFERENCE_PATH}/ModelInfer`, (message, client, seen, hold) =>
    inferMessage(context, message, client, seen, hold, false),
  );
  registerDuplex(server, context, `${INFERENCE_PATH}/ModelStreamInfer`, (call) =>
    streams.serve(call),
  );
  registerServerState(server, context);
  registerRepository(server, context);
  registerDescriptions(server, context);
  for (const [method, reason] of Object.entries(UNIMPLEMENTED)) {
    registerUnary(server, context, `${INFERENCE_PATH}/${method}`, () => {
      throw new HttpError(501, reason);
    });
  }
}

function registerServerState(server: Server, context: GrpcContext): void {
  const { state } = context;
  const live = [pb.ServerLiveRequestSchema, pb.ServerLiveResponseSchema] as const;
  registerAnswer(server, context, `${INFERENCE_PATH}/ServerLive`, live, () => ({ live: true }));
  const ready = [pb.ServerReadyRequestSchema, pb.ServerReadyResponseSchema] as const;
  registerAnswer(server, context, `${INFERENCE_PATH}/ServerReady`, ready, () => ({
    ready: state.isFit,
  }));
  const modelReady = [pb.ModelReadyRequestSchema, pb.ModelReadyResponseSchema] as const;
  registerAnswer(
    server,
    context,
    `${INFERENCE_PATH}/ModelReady`,
    modelReady,
    ({ name, version }) => {
      const hosted = knownModel(context, name, version);
      return { ready: hosted !== undefined && state.isApplicationReady(hosted.application) };
    },
  );
}

function registerRepository(server: Server, context: GrpcContext): void {
  const { state } = context;
  const index = [pb.RepositoryIndexRequestSchema, pb.RepositoryIndexResponseSchema] as const;
  registerAnswer(server, context, `${INFERENCE_PATH}/RepositoryIndex`, index, ({ ready }) => ({
    models: repositoryIndex(state, ready),
  }));
  const load = [pb.RepositoryModelLoadRequestSchema, pb.RepositoryModelLoadResponseSchema] as const;
  registerAnswer(
    server,
    context,
    `${INFERENCE_PATH}/RepositoryModelLoad`,
    load,
    async (request) => {
      await loadModel(state, request.modelName, Object.keys(request.parameters));
      return {};
    },
  );
  const unload = [
    pb.RepositoryModelUnloadRequestSchema,
    pb.RepositoryModelUnloadResponseSchema,
  ] as const;
  registerAnswer(
    server,
    context,
    `${INFERENCE_PATH}/RepositoryModelUnload`,
    unload,
    ({ modelName }) => refuseUnload(state, modelName),
  );
}

function registerDescriptions(server: Server, context: GrpcContext): void {
  const { state } = context;
  const own = [pb.ServerMetadataRequestSchema, pb.ServerMetadataResponseSchema] as const;
  registerAnswer(server, context, `${INFERENCE_PATH}/ServerMetadata`, own, () =>
    messageOf(pb.ServerMetadataResponseSchema, serverMetadata(state, state.extensions)),
  );
  const metadata = [pb.ModelMetadataRequestSchema, pb.ModelMetadataResponseSchema] as const;
  registerAnswer(
    server,
    context,
    `${INFERENCE_PATH}/ModelMetadata`,
    metadata,
    ({ name, version }) => {
      const { model } = hostedModel(state.models, name, version);
      return messageOf(pb.ModelMetadataResponseSchema, modelMetadata(name, model.signature));
    },
  );
  const config = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
  registerAnswer(server, context, `${INFERENCE_PATH}/ModelConfig`, config, ({ name, version }) => {
    const { model, maxRows } = hostedModel(state.models, name, version);
    const { signature, classes, sequences } = model;
    const config = modelConfig(name, signature, maxRows, classes?.stated, sequences);
    return { config: messageOf(pb.ModelConfigSchema, config) };
  });
  const stats = [pb.ModelStatisticsRequestSchema, pb.ModelStatisticsResponseSchema] as const;
  registerAnswer(
    server,
    context,
    `${INFERENCE_PATH}/ModelStatistics`,
    stats,
    ({ name, version }) => {
      const models = name === "" ? state.models.map(namedFirst) : [named(context, name, version)];
      const statistics = modelStatistics(models, state.epochOffsetMs());
      return messageOf(pb.ModelStatisticsResponseSchema, statistics);
    },
  );
}

/** Unknown models are not ready, so readiness checks do not fail on them. */
function knownModel({ state }: GrpcContext, name: string, version: string) {
  try {
    return hostedModel(state.models, name, version);
  } catch {
    return undefined;
  }
}

function namedFirst({ model: { signature, metrics } }: HostedModel) {
  return { name: signature.names[0] ?? "", metrics };
}

function named({ state }: GrpcContext, name: string, version: string) {
  return { name, metrics: hostedModel(state.models, name, version).model.metrics };
}

/**
 * Converts an HTTP answer's JSON to a message with the same field names; other fields are dropped.
 */
const messageOf = ((schema, json) =>
  fromJson(schema, json as JsonValue, { ignoreUnknownFields: true })) as <
  S extends Parameters<typeof fromJson>[0],
>(
  schema: S,
  json: object,
) => ReturnType<typeof fromJson<S>>;
