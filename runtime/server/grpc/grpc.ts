/** The gRPC listener: opens beside HTTP, and lets requests into the same state. */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { ServerLimits } from "../applications/limits.ts";
import type { ServerState } from "../applications/server-state.ts";
import { HEADER_BYTES } from "../bodies/body-memory.ts";
import type { HttpContext } from "../http/context.ts";
import { largestRowShape } from "../tensors/padding.ts";
import { DATATYPES, type Datatype, elementCountOf } from "../tensors/tensors.ts";
import { Answers } from "./answers.ts";
import type { GrpcContext } from "./context.ts";
import { CallCounts } from "./counts.ts";
import { Health } from "./health.ts";
import { InferStreams } from "./infer-stream.ts";
import { interceptorOf } from "./interceptor.ts";
import type { GrpcListener, GrpcOptions } from "./listener.ts";
import { file_health } from "./pb/health-pb.ts";
import { file_inference, GRPCInferenceService } from "./pb/inference-pb.ts";
import { file_reflection } from "./pb/reflection-pb.ts";
import { Reflection } from "./reflection.ts";
import { INFERENCE_PATH, registerInference } from "./service.ts";
import { Sockets } from "./sockets.ts";

const FILES = [file_inference, file_health, file_reflection];

/** @throws RuntimeError RUNTIME_LISTEN */
export async function openGrpc(
  state: ServerState,
  { host, port, maxMessageBytes, maxStreams, servesAdmin = true, rpcs = [] }: GrpcOptions,
  limits: ServerLimits,
  { connections, jsonThread: thread }: Pick<HttpContext, "connections" | "jsonThread">,
): Promise<GrpcListener> {
  const bytes = maxMessageBytes ?? messageLimit(state.models, limits.maxBodyBytes);
  const limit = { bytes, why: "the limit of messages" };
  const counts = new CallCounts();
  const server = new Server({
    // The reader of messages keeps the limit.
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": maxStreams,
    "grpc.max_connection_idle_ms": limits.idleTimeoutMs,
    // Channelz statistics are not used, and cost time with every call.
    "grpc.enable_channelz": 0,
    interceptors: [
      interceptorOf(state, {
        servesAdmin,
        surplusAt: (peer) => sockets.surplusAt(peer),
        messages: { budget: state.budget, limit, pace: limits, lingerMs: limits.lingerMs },
        counts,
      }),
    ],
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets: Sockets = new Sockets(state.access, limits, connections, (socket) => {
    injector.injectConnection(socket);
  });
  const context = contextOf(state, limits, { counts, thread }, (peer) => sockets.cut(peer));
  const streams = new InferStreams(context);
  const health = new Health(state, [GRPCInferenceService.typeName]);
  const reflection = new Reflection(FILES);
  registerInference(server, context, streams);
  for (const register of rpcs) register(server, context, INFERENCE_PATH);
  health.register(server, context);
  reflection.register(server, context);
  const url = await sockets.listen(host, port);
  return {
    url,
    metricLines: () => context.counts.lines(sockets.count, context.answers.unsentBytes),
    announceStop: () => health.look(),
    stop: async () => {
      await sockets.stop();
      health.close();
      reflection.close();
      await streams.finish();
      await new Promise((resolve) => server.tryShutdown(resolve));
    },
    close: async (stopped) => {
      const force = setTimeout(() => {
        server.forceShutdown();
        sockets.cutAll();
      }, limits.lingerMs);
      await stopped;
      clearTimeout(force);
    },
  };
}

function contextOf(
  state: ServerState,
  limits: ServerLimits,
  shared: Pick<GrpcContext, "counts" | "thread">,
  cut: (peer: string) => void,
): GrpcContext {
  return {
    state,
    hostedOf: hostedByName(state),
    ...shared,
    answers: new Answers(limits, cut),
    maxPerStream: limits.maxPipelined,
  };
}

/** Returns a function that finds models by name; the models may change after a reload. */
function hostedByName(state: ServerState): (name: string) => HostedModel | undefined {
  let known: ServerState["models"] = [];
  let byName = new Map<string, HostedModel>();
  return (name) => {
    if (known !== state.models) {
      known = state.models;
      const named = known.flatMap((hosted) => hosted.names.map((own) => [own, hosted] as const));
      byName = new Map(named);
    }
    return byName.get(name);
  };
}

/** Maximum bytes of a varint, which a negative 32-bit integer needs as well. */
const LONGEST_VARINT_BYTES = 10;

/** Size of the largest request of all models, at most `maxBodyBytes`. */
function messageLimit(models: readonly HostedModel[], maxBodyBytes: number): number {
  const needed = models.map(({ model, maxRows }) => {
    const bytes = model.signature.inputs.map((tensor) => {
      return maxRows * elementCountOf(largestRowShape(tensor)) * elementBytes(tensor.datatype);
    });
    return bytes.reduce((sum, one) => sum + one, HEADER_BYTES);
  });
  return Math.min(maxBodyBytes, Math.max(...needed));
}

function elementBytes(datatype: Datatype): number {
  const { elementBytes: plain } = DATATYPES[datatype];
  if (datatype === "BYTES") return Number.POSITIVE_INFINITY;
  return /^U?INT/.test(datatype) ? LONGEST_VARINT_BYTES : plain;
}
