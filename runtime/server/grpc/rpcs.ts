/** RPCs that features add to the gRPC service. */
import type { Server } from "@grpc/grpc-js";
import type { GrpcContext } from "./context.ts";

/** Adds rpcs to a server. @param path of the service. */
export type RegisterRpcs = (server: Server, context: GrpcContext, path: string) => void;
