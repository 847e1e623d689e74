/** Who may come in: certificates, tokens, browsers, and how much one client may ask. */
import { address, text, texts } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { shownTokens } from "./shown-tokens.ts";

const file = () => text("<file>", "path of a file");

export const ACCESS = {
  tlsCert: setting(
    file(),
    null,
    "certificate of the server and those between, PEM; read again when it changes",
    "no TLS",
  ),
  tlsKey: setting(file(), null, "its private key, PEM", "no TLS"),
  tlsClientCa: setting(
    file(),
    null,
    "certificates of which one has to have signed that of a client, PEM",
    "clients show no certificate",
  ),
  tokens: setting(
    file(),
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
