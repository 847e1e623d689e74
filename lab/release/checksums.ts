/** The list of what a release has, in the form of sha256sum, and a signature of that list. */
import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

export const LIST = "SHA256SUMS";
export const SIGNATURE = `${LIST}.sig`;
/** What `stratagem keygen` encrypted a key with, where it is set. */
const PASSPHRASE = "STRATAGEM_KEY_PASSPHRASE";

/** Writes the list of `files` into `folder`, by name. @returns its text. */
export function writeChecksums(folder: string, files: readonly string[]): string {
  const lines = files
    .map((file) => ({ name: basename(file), sha256: sha256Of(file) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  writeFileSync(join(folder, LIST), lines.join(""));
  return lines.join("");
}

/**
 * Signs the list by a private key in PEM: the plain Ed25519 signature of its bytes in base64, as
 * `cosign verify-blob --key NAME.pub --signature SHA256SUMS.sig` takes it.
 */
export function signChecksums(folder: string, keyFile: string): void {
  const passphrase = process.env[PASSPHRASE];
  const pem = readFileSync(keyFile);
  const key = createPrivateKey(passphrase === undefined ? pem : { key: pem, passphrase });
  if (key.asymmetricKeyType !== "ed25519") {
    throw new Error(`${keyFile}: expected an Ed25519 key, found ${key.asymmetricKeyType}`);
  }
  const signature = sign(null, readFileSync(join(folder, LIST)), key);
  writeFileSync(join(folder, SIGNATURE), `${signature.toString("base64")}\n`);
}

function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
