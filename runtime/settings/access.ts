/** Access control: certificates, tokens, browsers, and limits of single clients. */
import { address, text, texts } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { shownTokens } from "./shown-tokens.ts";
import { TLS_HELP, tlsFiles } from "./tls-files.ts";

export const ACCESS = {
  tls: setting(tlsFiles, null, `${TLS_HELP}; read again when they change`, "no TLS"),
  tokens: setting(
    text("<file>", "path of a file"),
    null,
    "hashed tokens of clients; reloaded when it changes",
    "no authentication",
  ),
  token: setting(
    shownTokens(["sources", "workers", "cluster"]),
    null,
    "file with the token, or USER:PASSWORD, for sources, workers or the cluster",
    "none",
  ),
  admin: setting(address, null, "separate address for /admin", "that of --http"),
  metrics: setting(address, null, "separate address for /metrics", "that of --http"),
  corsOrigins: setting(
    texts("<origins>", "origins such as https://app.example, or *"),
    null,
    "origins of web pages that may send requests, such as https://app.example, or *; their hosts " +
      "count as names of the server",
    "none",
  ),
};
