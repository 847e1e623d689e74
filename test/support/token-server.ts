/** A server of tokens for docker-registry: JSON web tokens that it trusts by a certificate. */
import { execFileSync } from "node:child_process";
import { createSign, randomUUID, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const SERVICE = "policies";
const ISSUER = "stratagem-test";

export class TokenServer {
  readonly #server: Server;
  readonly #folder: string;
  /** How many it has given. */
  given = 0;
  /** Seconds that a token holds from now on; below 0 it has ended before it is given. */
  lifeSeconds = 300;

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  /**
   * @param folder for its key and certificate, made by openssl.
   * @param accounts passwords by name; who has one may push, and everybody may pull.
   */
  static async start(
    folder: string,
    accounts: Readonly<Record<string, string>>,
  ): Promise<TokenServer> {
    const [key, cert] = [join(folder, "token.key"), join(folder, "token.crt")];
    const made = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", ...made, "-subj", `/CN=${ISSUER}`], { stdio: "pipe" });
    const server = createServer();
    const tokens = new TokenServer(server, folder);
    server.on("request", ({ url = "", headers }, response) => {
      const { searchParams } = new URL(url, "http://tokens");
      const basic = headers.authorization?.replace(/^Basic /, "");
      const [name = "", password] = Buffer.from(basic ?? "", "base64")
        .toString()
        .split(":");
      const isKnown = basic !== undefined && accounts[name] === password;
      if (basic !== undefined && !isKnown) {
        response.writeHead(401).end();
        return;
      }
      const token = tokens.#token(searchParams.getAll("scope"), name, isKnown);
      response.end(JSON.stringify({ token, expires_in: tokens.lifeSeconds }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return tokens;
  }

  /** For the registry's configuration. */
  get access(): { readonly token: object } {
    const { port } = this.#server.address() as AddressInfo;
    const realm = `http://127.0.0.1:${port}/token`;
    const rootcertbundle = join(this.#folder, "token.crt");
    return { token: { realm, service: SERVICE, issuer: ISSUER, rootcertbundle } };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #token(scopes: readonly string[], subject: string, mayPush: boolean): string {
    this.given++;
    const certificate = new X509Certificate(readFileSync(join(this.#folder, "token.crt")));
    const nowSeconds = Math.floor(Date.now() / 1000);
    const access = scopes.map((scope) => {
      const [type, name, actions = ""] = scope.split(":");
      return { type, name, actions: actions.split(",").filter((one) => mayPush || one === "pull") };
    });
    const header = { typ: "JWT", alg: "RS256", x5c: [certificate.raw.toString("base64")] };
    const claims = {
      ...{ iss: ISSUER, sub: subject, aud: SERVICE, jti: randomUUID(), access },
      ...{ iat: nowSeconds, nbf: nowSeconds - 60, exp: nowSeconds + this.lifeSeconds },
    };
    const signed = [header, claims].map((part) => {
      return Buffer.from(JSON.stringify(part)).toString("base64url");
    });
    const key = readFileSync(join(this.#folder, "token.key"));
    const signature = createSign("RSA-SHA256").update(signed.join(".")).sign(key);
    return [...signed, signature.toString("base64url")].join(".");
  }
}
