/** Bundle files made by hand, so that tests do not have to believe the encoder. */
import { createHash } from "node:crypto";
import { Packr, Unpackr } from "msgpackr";
import type { BundleErrorCode } from "../../runtime/bundle/bundle-error.ts";
import { encodeBundle } from "../../runtime/bundle/codec.ts";
import { sampleBundle } from "./sample-bundle.ts";

/** Bytes before the payload. Source: docs/bundle-format.md. */
export const HEADER_BYTES = 55;

export type Payload = Record<string, unknown>;

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, copyBuffers: true });

/** A payload under a header that is right about it. */
export function fileOf(payload: Uint8Array, version = 1): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("94a9", 0, "hex");
  header.write("stratagem", 2, "ascii");
  header.writeUInt8(0xce, 11);
  header.writeUInt32BE(version, 12);
  header.write("c420", 16, "hex");
  createHash("sha256").update(payload).digest().copy(header, 18);
  header.writeUInt8(0xc6, 50);
  header.writeUInt32BE(payload.length, 51);
  return Uint8Array.from(Buffer.concat([header, payload]));
}

/** The payload of a file as plain values of their own memory: tables are {data: bytes, dtype, shape}. */
export function plainPayload(file: Uint8Array): Payload {
  return unpackr.unpack(file.subarray(HEADER_BYTES)) as Payload;
}

/** Any value as a bundle file whose keys are in order. */
export function fileOfValue(value: unknown): Uint8Array {
  return fileOf(packr.pack(sorted(value)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sorted(field)]));
}

/** Every file of test/fixtures/bundles, with the code it is refused with, or null. */
export function fixtures(): ReadonlyMap<
  string,
  { bytes: Uint8Array; code: BundleErrorCode | null }
> {
  const valid = encodeBundle(sampleBundle());
  const payload = valid.subarray(HEADER_BYTES);
  const damaged = valid.slice();
  damaged[HEADER_BYTES + 20] = (damaged[HEADER_BYTES + 20] ?? 0) ^ 1;
  const unknownKey = { ...plainPayload(valid), colour: "red" };
  const beyond = sampleBundle();
  beyond.levels[1]?.actionByState.data.set([10], 17);
  return new Map([
    ["v1.msgpack", { bytes: valid, code: null }],
    ["bad-magic.msgpack", { bytes: payload, code: "BUNDLE_MAGIC" }],
    ["bad-version.msgpack", { bytes: fileOf(payload, 2), code: "BUNDLE_VERSION" }],
    ["bad-length.msgpack", { bytes: valid.subarray(0, -100), code: "BUNDLE_LENGTH" }],
    ["bad-checksum.msgpack", { bytes: damaged, code: "BUNDLE_CHECKSUM" }],
    ["bad-schema.msgpack", { bytes: fileOfValue(unknownKey), code: "BUNDLE_SCHEMA" }],
    ["bad-semantics.msgpack", { bytes: fileOfValue(withBytes(beyond)), code: "BUNDLE_SEMANTICS" }],
  ]);
}

/** A value in memory as the payload holds it. */
export function withBytes(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBytes(field)]));
}
