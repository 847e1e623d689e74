/** Certificates for tests, made by openssl: two authorities, a server and clients of theirs. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const HAS_OPENSSL = spawnSync("openssl", ["version"]).status === 0;

export interface Pair {
  /** Paths. */
  readonly cert: string;
  readonly key: string;
}

export class Authority {
  readonly folder: string;
  readonly cert: string;
  readonly #key: string;

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `stratagem-${name}-`));
    const pair = pairIn(this.folder, "ca");
    [this.cert, this.#key] = [pair.cert, pair.key];
    const subject = ["-subj", `/CN=${name}`, "-days", "30"];
    openssl("req", "-x509", ...NEW_KEY, "-keyout", pair.key, "-out", pair.cert, ...subject);
  }

  /** @param isOver whether it has ended long ago. */
  issue(name: string, isOver = false): Pair {
    const pair = pairIn(this.folder, name);
    const request = join(this.folder, `${name}.csr`);
    openssl("req", ...NEW_KEY, "-keyout", pair.key, "-out", request, "-subj", `/CN=${name}`);
    const extensions = join(this.folder, `${name}.ext`);
    writeFileSync(extensions, "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    // A certificate whose days are negative ended before it began, in every version of openssl.
    const days = ["-days", isOver ? "-1" : "30"];
    const signed = ["-CA", this.cert, "-CAkey", this.#key, "-CAcreateserial"];
    const made = ["-out", pair.cert, "-extfile", extensions];
    openssl("x509", "-req", "-in", request, ...signed, ...days, ...made);
    return pair;
  }

  get pem(): Buffer {
    return readFileSync(this.cert);
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function pairIn(folder: string, name: string): Pair {
  return { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
}

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
