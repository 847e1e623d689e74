/** The gRPC door beside HTTP. */
import { address, bytes, count } from "./kinds.ts";
import { setting } from "./setting.ts";

export const GRPC = {
  grpc: setting(address, null, "where to listen for gRPC; port 0 for any", "there is no gRPC"),
  grpcMaxMessage: setting(
    bytes(),
    null,
    "bytes of a gRPC message that is received",
    "the largest request of the models, at most max-body",
  ),
  grpcMaxStreams: setting(
    count({ least: 1, most: 2 ** 20 }),
    256,
    "gRPC calls of one connection at the same time",
  ),
};
