/** The cluster whose workers are found. */
import { text } from "./kinds.ts";
import { setting } from "./setting.ts";

export const CLUSTER = {
  cluster: setting(
    text("<url>", "nats://HOST:PORT,HOST:PORT… or tls://, perhaps with /NAME behind"),
    null,
    "the NATS over which workers of other machines are found, for pools without URLs",
    "none are",
  ),
  clusterToken: setting(
    text("<file>", "a file of nsc, with a token, or with USER:PASSWORD"),
    null,
    "who this server is to that NATS",
    "nobody",
  ),
};
