/** Keys, statements and envelopes as the tests of signatures want them. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { envelopeBytes, signedBytes } from "../../runtime/bundles/trust/envelope.ts";
import { keyIdOf } from "../../runtime/bundles/trust/keys.ts";
import {
  SIGNATURE_TYPE,
  type Statement,
  statementBytes,
} from "../../runtime/bundles/trust/statement.ts";

export interface TestKey {
  readonly id: string;
  readonly key: KeyObject;
  /** Path of the public key. */
  readonly pub: string;
}

export function signatureFolder(): string {
  return mkdtempSync(join(tmpdir(), "stratagem-signatures-"));
}

export function testKey(folder: string, name: string): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pub = join(folder, `${name}.pub`);
  writeFileSync(pub, publicKey.export({ type: "spki", format: "pem" }));
  return { id: keyIdOf(publicKey), key: privateKey, pub };
}

/** What is said of a bundle's bytes, unless `other` says otherwise. */
export function statementAbout(bundle: Uint8Array, other: Partial<Statement> = {}): Statement {
  return {
    sha256: createHash("sha256").update(bundle).digest("hex"),
    bytes: bundle.length,
    application: "sample",
    serial: 7,
    issuedAt: "2026-11-23T12:00:00.000Z",
    expiresAt: null,
    scope: {},
    models: [{ file: "small.onnx", sha256: "2".repeat(64) }],
    ...other,
  };
}

/** The file of an envelope around a statement, signed by all of the keys. */
export function envelopeOf(statement: Statement, ...keys: readonly TestKey[]): Uint8Array {
  return envelopeAround(statementBytes(statement), keys);
}

/** The same around any payload. */
export function envelopeAround(
  payload: Uint8Array,
  keys: readonly TestKey[],
  payloadType = SIGNATURE_TYPE,
): Uint8Array {
  const signed = signedBytes(payloadType, payload);
  const signatures = keys.map(({ id, key }) => ({ keyId: id, signature: sign(null, signed, key) }));
  return envelopeBytes({ payloadType, payload, signatures });
}
