/** Public keys of trusted signers, read from files: Ed25519 in PEM. */
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";
import { NotAFileError, readRegularFile } from "../../base/regular-file.ts";

export interface PublicKey {
  /** Id as in signatures. */
  readonly id: string;
  readonly key: KeyObject;
}

const ID_DIGITS = 16;
const MAX_FILE_BYTES = 2 ** 16;
const MAX_KEYS = 16;
const BEGIN = "-----BEGIN PUBLIC KEY-----";
const END = "-----END PUBLIC KEY-----";
const EXPECTED = "Ed25519 public keys in PEM, as stratagem keygen writes them into NAME.pub";

/** Returns the first 16 hexadecimal digits of the SHA-256 of a public key as DER (SPKI). */
export function keyIdOf(key: KeyObject): string {
  const der = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex").slice(0, ID_DIGITS);
}

/**
 * Reads the keys of files, each with one or several keys.
 * @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_KEY for an invalid file.
 */
export async function readPublicKeys(paths: readonly string[]): Promise<PublicKey[]> {
  const keys: PublicKey[] = [];
  for (const path of paths) keys.push(...publicKeysOf(await keyText(path), path));
  return keys;
}

/** @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_KEY if the file is too large for a key. */
export async function keyText(path: string): Promise<string> {
  const { bytes, isTooLarge } = await readRegularFile(path, MAX_FILE_BYTES).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = error instanceof NotAFileError ? message : (code ?? message);
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a key, got: ${reason}`);
  });
  if (!isTooLarge) return bytes.toString("latin1");
  throw refusal(path, `expected at most ${MAX_FILE_BYTES} bytes of keys`);
}

/** @param place of the text, for messages. @throws RuntimeError RUNTIME_KEY */
function publicKeysOf(text: string, place: string): PublicKey[] {
  const keys: PublicKey[] = [];
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    const end = text.indexOf(END, at);
    if (end < 0) throw refusal(place, `expected ${END}, got a file that ends before`);
    if (keys.length === MAX_KEYS) throw refusal(place, `expected at most ${MAX_KEYS} keys`);
    keys.push(publicKeyOf(text.slice(at, end + END.length), place));
    at = end;
  }
  if (keys.length > 0) return keys;
  // A private key in place of a public one is reported, since it may have leaked.
  const found = text.includes("PRIVATE KEY-----") ? "a private key" : "something else";
  throw refusal(place, `expected ${EXPECTED}, got ${found}`);
}

function publicKeyOf(pem: string, place: string): PublicKey {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw refusal(place, `expected ${EXPECTED}, got a block that is not a key`);
  }
  const { asymmetricKeyType: type } = key;
  if (type === "ed25519") return { id: keyIdOf(key), key };
  throw refusal(place, `expected ${EXPECTED}, got a key of kind ${type}`);
}

function refusal(place: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_KEY", `${place}: ${message}`);
}
