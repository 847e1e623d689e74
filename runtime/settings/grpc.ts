/** The gRPC door beside HTTP. */
import { address } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const GRPC = {
  grpc: setting(address, null, "where to listen for gRPC; port 0 for any", "there is no gRPC"),
};
