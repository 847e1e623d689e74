/** Bundles to serve, and the address to listen at. */
import { address, text, texts, truth } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const SERVED = {
  policy: setting(
    texts("<bundle>", "paths or URLs of policy bundles"),
    null,
    "policy bundle: a path, https:// or oci:// (repeatable, one per application)",
    "required",
  ),
  models: setting(
    texts("<folder>", "folders"),
    null,
    "folder of the model files (once for all bundles, or once per bundle in order)",
    "the folder of each bundle",
  ),
  http: setting(address, { host: "127.0.0.1", port: 8000 }, "address for HTTP; port 0 for any"),
  serverName: setting(
    text("<name>", "a name"),
    "stratagem",
    "server name in GET /v2 and ServerMetadata; some clients require triton",
  ),
  textParameters: setting(
    truth,
    false,
    "send all parameters of answers as strings, for KServe's transformers",
  ),
};

/** The gRPC door beside HTTP. */
export const GRPC = {
  grpc: setting(address, null, "where to listen for gRPC; port 0 for any", "there is no gRPC"),
};

/** Settings of bundles that are not files of this machine. */
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
