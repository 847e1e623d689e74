/**
 * Signatures as cosign's `verify-blob` takes them: of the bundle's bytes and nothing else, so
 * without serial, expiry or scope. Source: sigstore/protobuf-specs, sigstore_bundle.proto v0.3.
 */
import { createHash, sign } from "node:crypto";
import type { WrittenFile } from "../base/atomic-write.ts";
import { isP256, type SigningKey } from "./private-key.ts";

const BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";

/**
 * BUNDLE.sig is the signature in base64 (`--signature`). Of a P-256 key BUNDLE.sigstore.json is the
 * same as later versions want it (`--bundle`); of Ed25519 they want another signature there, over a
 * digest, which `node:crypto` does not make (sigstore/cosign#5074).
 */
export function cosignFiles(bundlePath: string, bytes: Uint8Array, by: SigningKey): WrittenFile[] {
  const { key, id } = by;
  // Ed25519 has its digest in itself.
  const signature = sign(isP256(key) ? "sha256" : null, bytes, key).toString("base64");
  const plain = { path: `${bundlePath}.sig`, bytes: Buffer.from(`${signature}\n`) };
  if (!isP256(key)) return [plain];
  const digest = createHash("sha256").update(bytes).digest("base64");
  const document = {
    mediaType: BUNDLE_TYPE,
    verificationMaterial: { publicKey: { hint: id }, tlogEntries: [] },
    messageSignature: { messageDigest: { algorithm: "SHA2_256", digest }, signature },
  };
  const path = `${bundlePath}.sigstore.json`;
  return [plain, { path, bytes: Buffer.from(`${JSON.stringify(document)}\n`) }];
}
