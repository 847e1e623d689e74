/** Settings of gRPC, served beside HTTP. */
import { address } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const GRPC = {
  grpc: setting(address, null, "address for gRPC; port 0 for any", "no gRPC"),
};
