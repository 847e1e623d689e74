/** Who may come in: certificates, tokens, browsers, and how much one client may ask. */
import { listOf, splitPair } from "./device-kinds.ts";
import { address, type Kind, text, texts } from "./kinds.ts";
import { setting } from "./setting.ts";

const file = () => text("<file>", "path of a file");

/** Servers that this one shows a token to. */
const SHOWN_TO = ["sources", "workers", "cluster"];

const shownTokens: Kind<readonly string[]> = listOf({
  sign: "<to=file>",
  expected: `${SHOWN_TO.join(", ")}, each once, "=" and a file, such as workers=token.txt`,
  isOne: (text) => {
    const { name, value } = splitPair(text);
    return SHOWN_TO.includes(name) && value !== "";
  },
  isEach: (all) => new Set(all.map((text) => splitPair(text).name)).size === all.length,
});

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
    shownTokens,
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
