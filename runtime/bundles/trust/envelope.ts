/**
 * Signed envelopes: bytes, what they are, and who has signed both. Source: DSSE 1.0.2,
 * github.com/secure-systems-lab/dsse.
 */
import { verify } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";
import type { PublicKey } from "./keys.ts";

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  /** One at least. */
  readonly signatures: readonly EnvelopeSignature[];
}

export interface EnvelopeSignature {
  /** Which key it says it is of: a hint that nothing is decided by. */
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** Far more than a bundle with 10,000 files of models has. */
export const MAX_ENVELOPE_BYTES = 4 * 2 ** 20;
const MAX_SIGNATURES = 16;
const MAX_TOLD_CHARACTERS = 40;
const BASE64 = /^[\w+/-]*={0,2}$/;

/** What is signed of a payload: its type and length beside it, so that nothing can be shifted. */
export function signedBytes(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = Buffer.from(payloadType);
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} `),
    type,
    Buffer.from(` ${payload.length} `),
    payload,
  ]);
}

/** The file of an envelope: JSON, with base64 for bytes. */
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
 * Takes an envelope apart; whether its signatures hold is for `signerOf`.
 * @param payloadType what it has to be of. @param place of it, for messages.
 * @throws RuntimeError RUNTIME_SIGNATURE
 */
export function readEnvelope(bytes: Uint8Array, payloadType: string, place: string): Envelope {
  if (bytes.length > MAX_ENVELOPE_BYTES) {
    throw malformed(place, `at most ${MAX_ENVELOPE_BYTES} bytes`, `${bytes.length}`);
  }
  const document = jsonOf(bytes, place);
  if (document["payloadType"] !== payloadType) {
    throw malformed(place, `payloadType ${payloadType}`, told(document["payloadType"]));
  }
  const signatures = document["signatures"];
  if (!Array.isArray(signatures) || signatures.length === 0) {
    throw malformed(place, "signatures", told(signatures));
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
      if (typeof keyid !== "string") throw malformed(where, "keyid as text", told(keyid));
      return { keyId: keyid, signature: bytesOf(sig, `${where}.sig`) };
    }),
  };
}

/**
 * The first of the keys that has signed an envelope: one is enough, so keys can be replaced one
 * after the other.
 * @throws RuntimeError RUNTIME_WRONG_KEY where nobody of them says to have signed, and
 * RUNTIME_SIGNATURE where somebody does but the signature is of something else.
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
    const found = `another one: payload, type or signature were changed`;
    throw malformed(place, `a signature that ${known.keyId} made of this payload`, found);
  }
  const found = signatures.map(({ keyId }) => told(keyId)).join(", ");
  const hint = "sign with a key that this site trusts, or give it the public key";
  const message = `${place}: expected a signature by key ${expected}, got ${found}; ${hint}`;
  throw new RuntimeError("RUNTIME_WRONG_KEY", message);
}

/** A map in JSON. @throws RuntimeError RUNTIME_SIGNATURE */
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
  throw malformed(place, "a map", told(value));
}

/** Of base64 with either alphabet, as the format allows. */
function bytesOf(value: unknown, place: string): Uint8Array {
  if (typeof value !== "string" || !BASE64.test(value)) {
    throw malformed(place, "base64", told(value));
  }
  return Buffer.from(value, "base64");
}

/** @param found what is there instead. */
export function malformed(place: string, expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_SIGNATURE", `${place}: expected ${expected}, got ${found}`);
}

/** A value as messages show it. */
export function told(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_TOLD_CHARACTERS ? `${text.slice(0, MAX_TOLD_CHARACTERS)}…` : text;
}
