/** Who may come in: certificates, tokens, browsers, and how much one client may ask. */
import { address, count, text, texts } from "./kinds.ts";
import { setting } from "./setting.ts";

const file = () => text("<file>", "path of a file");
const NO_LIMIT = "no limit";

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
  admin: setting(address, null, "where to listen for /admin alone", "where --http says"),
  metrics: setting(address, null, "where to listen for /metrics alone", "where --http says"),
  corsOrigins: setting(
    texts("<origins>", "origins such as https://app.example, or *"),
    null,
    "origins whose pages may ask in a browser, such as https://app.example, or *",
    "none",
  ),
  clientRate: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "requests a second of one client, by its token or its address",
    NO_LIMIT,
  ),
  clientBurst: setting(
    count({ least: 1, most: 2 ** 24 }),
    null,
    "requests that one client may send at once",
    "those of a second",
  ),
  clientConcurrency: setting(
    count({ least: 1, most: 2 ** 20 }),
    null,
    "requests of one client that wait for answers",
    NO_LIMIT,
  ),
};
