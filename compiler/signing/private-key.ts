/** Reads private signing keys in PEM, Ed25519 or, for cosign, P-256. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { stat } from "node:fs/promises";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  type Envelope,
  type EnvelopeSignature,
  signedBytes,
} from "stratagem-runtime/internal/bundles/trust/envelope";
import { keyIdOf, keyText } from "stratagem-runtime/internal/bundles/trust/keys";

export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
  /** Path of the file if others can read it; otherwise null. */
  readonly exposed: string | null;
}

const EXPECTED = "an Ed25519 private key in PEM, as in NAME.key of stratagem keygen";
const EXPECTED_FOR_COSIGN = "a private key in PEM, P-256 or Ed25519";
/** OpenSSL's name of P-256. */
const P256 = "prime256v1";
const OTHERS = 0o077;

/**
 * @param isForCosign whether P-256 is allowed too. @param passphrase of an encrypted key.
 * @throws RuntimeError RUNTIME_UNREADABLE, RUNTIME_KEY
 */
export async function readSigningKey(
  path: string,
  passphrase = "",
  isForCosign = false,
): Promise<SigningKey> {
  const expected = isForCosign ? EXPECTED_FOR_COSIGN : EXPECTED;
  const text = await keyText(path);
  if (text.includes("-----BEGIN PUBLIC KEY-----")) {
    throw refusal(path, `expected ${expected}, got a public key`);
  }
  const key = privateKeyOf(text, path, expected, passphrase);
  if (key.asymmetricKeyType !== "ed25519" && !(isForCosign && isP256(key))) {
    throw refusal(path, `expected ${expected}, got a key of kind ${key.asymmetricKeyType}`);
  }
  const { mode } = await stat(path);
  const isExposed = process.platform !== "win32" && (mode & OTHERS) !== 0;
  return { id: keyIdOf(createPublicKey(key)), key, exposed: isExposed ? path : null };
}

export function isP256({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === P256;
}

/** Signs an envelope with an Ed25519 key. */
export function signatureBy(
  { id, key }: SigningKey,
  { payloadType, payload }: Pick<Envelope, "payloadType" | "payload">,
): EnvelopeSignature {
  return { keyId: id, signature: sign(null, signedBytes(payloadType, payload), key) };
}

function privateKeyOf(text: string, path: string, expected: string, passphrase: string): KeyObject {
  const isEncrypted = text.includes("-----BEGIN ENCRYPTED PRIVATE KEY-----");
  try {
    return createPrivateKey(isEncrypted ? { key: text, passphrase } : text);
  } catch {
    // The text may be the key itself, so it is not quoted.
    const hint = passphrase === "" ? "is not set" : "does not match";
    throw isEncrypted
      ? refusal(path, `expected its passphrase in STRATAGEM_KEY_PASSPHRASE, which ${hint}`)
      : refusal(path, `expected ${expected}, got something else`);
  }
}

function refusal(path: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_KEY", `${path}: ${message}`);
}
