/** The gRPC door beside HTTP. */
import { address } from "./kinds.ts";
import { setting } from "./setting.ts";

export const GRPC = {
  grpc: setting(address, null, "where to listen for gRPC; port 0 for any", "there is no gRPC"),
};
