/**
 * Signatures for cosign's `verify-blob`: of the bundle's bytes only, without serial, expiry or
 * scope. Source: sigstore/protobuf-specs, sigstore_bundle.proto v0.3.
 */
import { createHash, sign } from "node:crypto";
import type { WrittenFile } from "../base/atomic-write.ts";
import { isP256, type SigningKey } from "./private-key.ts";

const BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";

/**
 * Creates BUNDLE.sig, the signature in base64 (`--signature`), and for a P-256 key
 * BUNDLE.sigstore.json, the same in the form of later versions (`--bundle`). For Ed25519 those need
 * a signature over a digest, which `node:crypto` cannot make (sigstore/cosign#5074).
 */
export function cosignFiles(bundlePath: string, bytes: Uint8Array, by: SigningKey): WrittenFile[] {
  const { key, id } = by;
  // Ed25519 includes its digest.
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
