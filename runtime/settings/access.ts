/** Who may come in: certificates, tokens, browsers, and how much one client may ask. */
import { address, text, texts } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { shownTokens } from "./shown-tokens.ts";
import { TLS_HELP, tlsFiles } from "./tls-files.ts";

export const ACCESS = {
  tls: setting(tlsFiles, null, `${TLS_HELP}; read again when they change`, "no TLS"),
  tokens: setting(
    text("<file>", "path of a file"),
    null,
    "tokens that clients have to show, hashed; read again when it changes",
    "everybody may come in",
  ),
  token: setting(
    shownTokens(["sources", "workers", "cluster"]),
    null,
    "file with the token, or USER:PASSWORD, that sources, workers or the cluster are shown",
    "none",
  ),
  admin: setting(address, null, "where to listen for /admin alone", "where --http says"),
  metrics: setting(address, null, "where to listen for /metrics alone", "where --http says"),
  corsOrigins: setting(
    texts("<origins>", "origins such as https://app.example, or *"),
    null,
    "origins whose pages may ask in a browser, such as https://app.example, or *",
    "none",
  ),
};
