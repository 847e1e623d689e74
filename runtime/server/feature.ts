/** An open feature of the server; the server knows features only by this interface. */
import type { RequestFeature } from "./applications/hooks.ts";
import type { RegisterRpcs } from "./grpc/rpcs.ts";
import type { Route } from "./http/route.ts";

export interface OpenFeature extends RequestFeature {
  readonly routes?: readonly Route[];
  /** Loaded only where gRPC is enabled. */
  rpcs?(): Promise<RegisterRpcs>;
  close?(): void | Promise<void>;
}
