/** The cluster whose workers are found. */
import { text } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const CLUSTER = {
  cluster: setting(
    text("<url>", "nats://HOST:PORT,HOST:PORT… or tls://, perhaps with /NAME behind"),
    null,
    "the NATS over which workers of other machines are found, for pools without URLs",
    "none are",
  ),
  frontEnd: setting(
    text("<name>", "a name"),
    null,
    "what this front end is called among those that share the workers of --cluster",
    "its host and process",
  ),
};
