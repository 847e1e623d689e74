/** Files of bundles whose header is right about whatever they hold. */
import { createHash } from "node:crypto";
import { Packr, Unpackr } from "msgpackr";

/** Bytes before the payload. Source: docs/bundle-format.md. */
const HEADER_BYTES = 55;
const DIGEST_OFFSET = 18;
const LENGTH_OFFSET = 51;

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, copyBuffers: true });

/** A map or array of a payload, in memory of its own; the data of a table is bytes. */
export type Container = Record<string | number, unknown>;

export function payloadOf(file: Uint8Array): Container {
  return unpackr.unpack(file.subarray(HEADER_BYTES)) as Container;
}

export function packed(payload: unknown): Uint8Array {
  return packr.pack(payload);
}

/** @param file whose header is taken over, but for the length and the digest. */
export function signed(file: Uint8Array, payload: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.set(file.subarray(0, HEADER_BYTES));
  createHash("sha256").update(payload).digest().copy(bytes, DIGEST_OFFSET);
  bytes.writeUInt32BE(payload.length, LENGTH_OFFSET);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}
