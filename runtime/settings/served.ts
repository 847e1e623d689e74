/** What is served, and where it listens. */
import { address, text, texts, truth } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const SERVED = {
  policy: setting(
    texts("<bundle>", "paths or URLs of policy bundles"),
    null,
    "policy bundle, a file or at https:// or oci://; once for each application",
    "there has to be one",
  ),
  models: setting(
    texts("<folder>", "folders"),
    null,
    "where the model files are; once for all bundles, or once for each in their order",
    "the folder of each bundle",
  ),
  http: setting(address, { host: "127.0.0.1", port: 8000 }, "where to listen; port 0 for any"),
  serverName: setting(
    text("<name>", "a name"),
    "stratagem",
    "what the server calls itself in GET /v2 and ServerMetadata; some clients want triton",
  ),
  textParameters: setting(
    truth,
    false,
    "make all parameters of answers texts, for KServe's transformers, which take no fractions",
  ),
};

/** The gRPC door beside HTTP. */
export const GRPC = {
  grpc: setting(address, null, "where to listen for gRPC; port 0 for any", "there is no gRPC"),
};

/** Where bundles come from that are not files of this machine. */
export const SOURCES = {
  store: setting(
    text("<folder>", "a folder"),
    null,
    "where bundles and models of sources are kept, for a start while the sources are away",
    "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/stratagem` or `~/.local/state/stratagem`",
  ),
  statusUrl: setting(
    text("<url>", "an http(s) URL"),
    null,
    "where it is POSTed, whenever that changes, which bundles are followed and which refused",
    "nowhere",
  ),
};
