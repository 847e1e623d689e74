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
