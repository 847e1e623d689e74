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
