/**
 * Bundles from bytes or values, checked by their methods, synchronously: every method is loaded
 * with this file. Source: docs/bundle-format.md.
 */
import { bytesOfBundle, valueOfBytes } from "../bundle/codec.ts";
import type { Bundle } from "../bundle/schema.ts";
import { methodNamed } from "../methods/every-method.ts";

/**
 * Encodes a bundle. Equal bundles give equal bytes, whatever the order of their keys.
 * @throws BundleError if the bundle would be refused when read.
 */
export function encodeBundle(bundle: Bundle): Uint8Array {
  return bytesOfBundle(validateBundle(bundle));
}

/**
 * Decodes the bundle of a file, frozen and in memory of its own. For any bytes it returns or throws
 * a BundleError; it does not limit their number.
 * @throws BundleError BUNDLE_MAGIC, _VERSION, _LENGTH, _CHECKSUM, _SCHEMA or _SEMANTICS, in this
 * order.
 */
export function decodeBundle(bytes: Uint8Array): Bundle {
  return validateBundle(valueOfBytes(bytes));
}

/**
 * Checks a value and all its parts, and returns it frozen (except typed arrays, which cannot be).
 * The result cannot make the runtime throw or read out of range.
 *
 * @param value a Bundle in memory, or the decoded payload, where the data of a table is bytes.
 * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
 */
export function validateBundle(value: unknown): Bundle {
  const { method } = (value ?? {}) as { method?: unknown };
  return methodNamed(method).read(value);
}
