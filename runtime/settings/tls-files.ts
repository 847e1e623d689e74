/** `--tls cert=FILE,key=FILE,client-ca=FILE`: the PEM files of a listener. */
import type { Kind } from "../kinds/kinds.ts";
import type { TlsPaths } from "../server/access/tls.ts";

const FORM = /^cert=([^,]+),key=([^,]+)(?:,client-ca=([^,]+))?$/;

export const TLS_HELP =
  "certificate with its intermediates and private key, PEM; with client-ca=FILE clients have to " +
  "show certificates too";

export const tlsFiles: Kind<TlsPaths> = {
  sign: "<cert=file,key=file>",
  expected: "cert=FILE,key=FILE or cert=FILE,key=FILE,client-ca=FILE",
  read: (value) => {
    const [, cert, key, clientCa] = FORM.exec(String(value)) ?? [];
    if (cert === undefined || key === undefined) return undefined;
    return clientCa === undefined ? { cert, key } : { cert, key, clientCa };
  },
  write: ({ cert, key, clientCa }) =>
    `cert=${cert},key=${key}${clientCa === undefined ? "" : `,client-ca=${clientCa}`}`,
};
