/**
 * Signed envelopes: a payload, its type, and signatures of both. Source: DSSE 1.0.2,
 * github.com/secure-systems-lab/dsse.
 */
import { verify } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";
import type { PublicKey } from "./keys.ts";

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  /** At least one. */
  readonly signatures: readonly EnvelopeSignature[];
}

export interface EnvelopeSignature {
  /** Key that the signature claims; only a hint, not used for decisions. */
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** Far more than a bundle with 10,000 model files needs. */
export const MAX_ENVELOPE_BYTES = 4 * 2 ** 20;
const MAX_SIGNATURES = 16;
const MAX_SHOWN_CHARACTERS = 40;
const BASE64 = /^[\w+/-]*={0,2}$/;

/**
 * Returns the signed bytes: type and length precede the payload, so that nothing can be shifted.
 */
export function signedBytes(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = Buffer.from(payloadType);
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} `),
    type,
    Buffer.from(` ${payload.length} `),
    payload,
  ]);
}

/** Encodes an envelope as a file: JSON, with base64 for bytes. */
export function envelopeBytes({ payloadType, payload, signatures }: Envelope): Uint8Array {
  const document = {
    payloadType,
    payload: Buffer.from(payload).toString("base64"),
    signatures: signatures.map(({ keyId, signature }) => ({
      keyid: keyId,
      sig: Buffer.from(signature).toString("base64"),
    })),
  };
  return Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
}

/**
 * Parses an envelope; `signerOf` verifies its signatures.
 * @param payloadType required type. @param place place for messages.
 * @throws RuntimeError RUNTIME_SIGNATURE
 */
export function readEnvelope(bytes: Uint8Array, payloadType: string, place: string): Envelope {
  if (bytes.length > MAX_ENVELOPE_BYTES) {
    throw malformed(place, `at most ${MAX_ENVELOPE_BYTES} bytes`, `${bytes.length}`);
  }
  const document = jsonOf(bytes, place);
  if (document["payloadType"] !== payloadType) {
    throw malformed(place, `payloadType ${payloadType}`, shown(document["payloadType"]));
  }
  const signatures = document["signatures"];
  if (!Array.isArray(signatures) || signatures.length === 0) {
    throw malformed(place, "signatures", shown(signatures));
  }
  if (signatures.length > MAX_SIGNATURES) {
    throw malformed(place, `at most ${MAX_SIGNATURES} signatures`, `${signatures.length}`);
  }
  return {
    payloadType,
    payload: bytesOf(document["payload"], `${place}: payload`),
    signatures: signatures.map((one: unknown, index) => {
      const where = `${place}: signatures[${index}]`;
      const { keyid = "", sig } = mapOf(one, where);
      if (typeof keyid !== "string") throw malformed(where, "keyid as text", shown(keyid));
      return { keyId: keyid, signature: bytesOf(sig, `${where}.sig`) };
    }),
  };
}

/**
 * Returns the first of the keys that has signed an envelope. One is enough, so keys can be replaced
 * one after the other.
 * @throws RuntimeError RUNTIME_WRONG_KEY if no signature claims one of the keys, RUNTIME_SIGNATURE
 * if one does but is not valid for this payload.
 */
export function signerOf(
  { payloadType, payload, signatures }: Envelope,
  keys: readonly PublicKey[],
  place: string,
): PublicKey {
  const signed = signedBytes(payloadType, payload);
  for (const { signature } of signatures) {
    const signer = keys.find(({ key }) => verify(null, signed, key, signature));
    if (signer !== undefined) return signer;
  }
  const expected = keys.map(({ id }) => id).join(" or ");
  const known = signatures.find(({ keyId }) => keys.some(({ id }) => id === keyId));
  if (known !== undefined) {
    const found = "another one: the payload, type or signature was changed";
    throw malformed(place, `a signature that ${known.keyId} made of this payload`, found);
  }
  const found = signatures.map(({ keyId }) => shown(keyId)).join(", ");
  const hint = "sign with a key that this site trusts, or give it the public key";
  const message = `${place}: expected a signature by key ${expected}, got ${found}; ${hint}`;
  throw new RuntimeError("RUNTIME_WRONG_KEY", message);
}

/** Parses a JSON map. @throws RuntimeError RUNTIME_SIGNATURE */
export function jsonOf(bytes: Uint8Array, place: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw malformed(place, "JSON", "something else");
  }
  return mapOf(value, place);
}

/** @throws RuntimeError RUNTIME_SIGNATURE */
export function mapOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw malformed(place, "a map", shown(value));
}

/** Decodes base64 with either alphabet, as the format allows. */
function bytesOf(value: unknown, place: string): Uint8Array {
  if (typeof value !== "string" || !BASE64.test(value)) {
    throw malformed(place, "base64", shown(value));
  }
  return Buffer.from(value, "base64");
}

/** @param found actual value, in words. */
export function malformed(place: string, expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_SIGNATURE", `${place}: expected ${expected}, got ${found}`);
}

/** Shortens a value for messages. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}
