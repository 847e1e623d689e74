/** Who somebody is to a NATS, by a file: what nsc writes, a token, or USER:PASSWORD. */
import { readFile } from "node:fs/promises";
import { RuntimeError } from "../errors.ts";

const CREDENTIALS = "-----BEGIN NATS USER JWT-----";

/**
 * As the client of NATS takes it. @param path left out for nobody.
 * @throws RuntimeError RUNTIME_UNREADABLE
 */
export async function natsCredentials(
  path: string | undefined,
  credsAuthenticator: (bytes: Uint8Array) => unknown,
): Promise<object> {
  if (path === undefined) return {};
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const found = error.code ?? error.message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected credentials, got: ${found}`);
  });
  if (text.includes(CREDENTIALS)) return { authenticator: credsAuthenticator(Buffer.from(text)) };
  const token = text.trim();
  const colon = token.indexOf(":");
  if (colon < 0) return { token };
  return { user: token.slice(0, colon), pass: token.slice(colon + 1) };
}
