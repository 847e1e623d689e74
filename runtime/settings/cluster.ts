/** Settings of a cluster whose workers are discovered. */
import { text } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const CLUSTER = {
  cluster: setting(
    text("<url>", "nats://HOST:PORT,HOST:PORT… or tls://, optionally followed by /NAME"),
    null,
    "NATS servers to discover remote workers with, for pools without URLs",
    "no discovery",
  ),
  frontEnd: setting(
    text("<name>", "a name"),
    null,
    "name of this front end in the cluster",
    "host name and process id",
  ),
};
