/** Implements `keygen`: makes a key pair to sign and verify bundles. */
import { generateKeyPairSync } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import { keyIdOf } from "stratagem-runtime/internal/bundles/trust/keys";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { UnwritableError } from "../base/errors.ts";

/** Private keys are readable by their owner only. */
const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o644;
const CIPHER = "aes-256-cbc";

interface KeygenOptions {
  /** Path of both files, without extensions. */
  readonly name: string;
  /** Passphrase to encrypt the private key; undefined or empty for none. */
  readonly passphrase: string | undefined;
}

/**
 * Writes NAME.key (PKCS #8) and NAME.pub (SPKI) in PEM, Ed25519. A key
 * that is there is never replaced: what it has signed could not be signed again.
 * @throws UnwritableError
 */
export async function keygenCommand(options: KeygenOptions): Promise<CommandResult> {
  const { name, passphrase = "" } = options;
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const isEncrypted = passphrase !== "";
  const secret = privateKey.export({
    type: "pkcs8",
    format: "pem",
    ...(isEncrypted ? { cipher: CIPHER, passphrase } : {}),
  });
  const shown = publicKey.export({ type: "spki", format: "pem" });
  const [keyPath, publicPath] = [`${name}.key`, `${name}.pub`];
  await writeNew(keyPath, String(secret), PRIVATE_MODE);
  try {
    await writeNew(publicPath, String(shown), PUBLIC_MODE);
  } catch (error) {
    await rm(keyPath, { force: true });
    throw error;
  }
  const id = keyIdOf(publicKey);
  const text = [
    `key ${id}`,
    `${keyPath} signs bundles (${isEncrypted ? "encrypted" : "unencrypted"}): keep it secret`,
    `${publicPath} verifies signatures: copy it to every site (serve --require-signature)`,
  ];
  const json = { key: id, privateKey: keyPath, publicKey: publicPath, encrypted: isEncrypted };
  return { exitCode: EXIT_CODES.ok, text: text.join("\n"), json };
}

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "wx", mode);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (file !== undefined) await rm(path, { force: true });
    const hint = code === "EEXIST" ? "an existing file; keys are never replaced" : undefined;
    throw new UnwritableError(path, hint ?? code ?? message);
  } finally {
    await file?.close();
  }
}
