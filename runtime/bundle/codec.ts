/** Bytes of a bundle: a header of fixed width, then the payload (docs/bundle-format.md). */
import { createHash } from "node:crypto";
// Not all of msgpackr, which loads a native string reader: bundles have few strings.
import { Packr } from "msgpackr/pack";
import { Unpackr } from "msgpackr/unpack";
import { BundleError, type BundleErrorCode } from "../base/bundle-error.ts";
import { scanMsgpack } from "./msgpack-scan.ts";
import { type Bundle, FORMAT_VERSION } from "./schema.ts";

/** Array of 4, then the 9-byte string "stratagem", then the marker of the uint32 version. */
const MAGIC = Uint8Array.of(0x94, 0xa9, ...new TextEncoder().encode("stratagem"), 0xce);
const VERSION_OFFSET = MAGIC.length;
/** Hexadecimal: bin 8 of length 32. */
const DIGEST_MARKER = "c420";
const DIGEST_MARKER_OFFSET = VERSION_OFFSET + 4;
const DIGEST_OFFSET = DIGEST_MARKER_OFFSET + 2;
const DIGEST_BYTES = 32;
/** Hexadecimal: bin 32, whose uint32 length follows. */
const LENGTH_MARKER = "c6";
const LENGTH_MARKER_OFFSET = DIGEST_OFFSET + DIGEST_BYTES;
const LENGTH_OFFSET = LENGTH_MARKER_OFFSET + 1;
const HEADER_BYTES = LENGTH_OFFSET + 4;

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });

/** Encodes a checked bundle. Equal bundles give equal bytes, whatever the order of their keys. */
export function bytesOfBundle(bundle: Bundle): Uint8Array {
  requireLittleEndian();
  const payload = packr.pack(canonical(bundle));
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(VERSION_OFFSET, FORMAT_VERSION);
  view.setUint16(DIGEST_MARKER_OFFSET, Number.parseInt(DIGEST_MARKER, 16));
  bytes.set(digestOf(payload), DIGEST_OFFSET);
  view.setUint8(LENGTH_MARKER_OFFSET, Number.parseInt(LENGTH_MARKER, 16));
  view.setUint32(LENGTH_OFFSET, payload.length);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}

/**
 * Decodes the payload of a file, unchecked, in memory of its own. For any bytes it returns or
 * throws a BundleError; it does not limit their number.
 * @throws BundleError BUNDLE_MAGIC, _VERSION, _LENGTH, _CHECKSUM or _SCHEMA, in this order.
 */
export function valueOfBytes(bytes: Uint8Array): unknown {
  requireLittleEndian();
  const payload = payloadOf(bytes);
  scanMsgpack(payload);
  return unpackr.unpack(payload);
}

function payloadOf(bytes: Uint8Array): Uint8Array {
  checkMagic(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length >= DIGEST_MARKER_OFFSET) checkVersion(view.getUint32(VERSION_OFFSET));
  checkHeaderLength(bytes);
  const payload = bytes.subarray(HEADER_BYTES);
  const length = view.getUint32(LENGTH_OFFSET);
  if (payload.length !== length) {
    refuse("BUNDLE_LENGTH", `expected a payload of ${length} bytes, got ${payload.length}${CUT}`);
  }
  const stated = hex(bytes.subarray(DIGEST_OFFSET, LENGTH_MARKER_OFFSET));
  const found = hex(digestOf(payload));
  if (stated !== found) {
    refuse("BUNDLE_CHECKSUM", `expected a payload with SHA-256 ${stated}, got ${found}${CUT}`);
  }
  return payload;
}

/** A file that ends inside a correct magic was cut off; BUNDLE_LENGTH reports that. */
function checkMagic(bytes: Uint8Array): void {
  const start = bytes.subarray(0, MAGIC.length);
  if (start.length > 0 && start.every((byte, at) => byte === MAGIC[at])) return;
  const found = start.length === 0 ? "an empty file" : hex(start);
  refuse(
    "BUNDLE_MAGIC",
    `expected a policy bundle, which starts with ${hex(MAGIC)}, got ${found}; ` +
      "give a file that stratagem compile wrote",
  );
}

/** The header's markers after the version state the lengths of what follows them. */
function checkHeaderLength(bytes: Uint8Array): void {
  if (bytes.length < HEADER_BYTES) {
    refuse(
      "BUNDLE_LENGTH",
      `expected a header of ${HEADER_BYTES} bytes, got ${bytes.length}${CUT}`,
    );
  }
  for (const [offset, marker] of [
    [DIGEST_MARKER_OFFSET, DIGEST_MARKER],
    [LENGTH_MARKER_OFFSET, LENGTH_MARKER],
  ] as const) {
    const found = hex(bytes.subarray(offset, offset + marker.length / 2));
    if (found === marker) continue;
    refuse("BUNDLE_LENGTH", `expected ${marker} at byte ${offset}, got ${found}${CUT}`);
  }
}

const CUT = "; the file is damaged or cut off: copy or compile it again";

function checkVersion(version: number): void {
  if (version === FORMAT_VERSION) return;
  const advice = version > FORMAT_VERSION ? "upgrade Stratagem or compile" : "compile";
  refuse(
    "BUNDLE_VERSION",
    `expected format version ${FORMAT_VERSION}, the only one that this build reads, got ` +
      `${version}; ${advice} the bundle again with this build`,
  );
}

/**
 * Returns the same value with every map's keys in ascending order and every typed array as its
 * bytes. The schema bounds the depth.
 */
function canonical(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, canonical(field)] as const);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}

/**
 * Tables are little-endian in the file and used as they are: no test here could run code that swaps
 * bytes.
 */
function requireLittleEndian(): void {
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1) {
    throw new Error("policy bundles need a little-endian host");
  }
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function refuse(code: BundleErrorCode, message: string): never {
  throw new BundleError(code, message);
}
