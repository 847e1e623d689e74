/**
 * Bundles from bytes or values, checked by their methods, for those who do not wait: every method
 * is loaded with this file. Source: docs/bundle-format.md.
 */
import { bytesOfBundle, valueOfBytes } from "../bundle/codec.ts";
import type { Bundle } from "../bundle/schema.ts";
import { methodNamed } from "../methods/every-method.ts";

/**
 * The file of a bundle. Equal bundles give equal bytes, whatever the order of their keys.
 * @throws BundleError if the bundle would be refused when read.
 */
export function encodeBundle(bundle: Bundle): Uint8Array {
  return bytesOfBundle(validateBundle(bundle));
}

/**
 * The bundle of a file, frozen, sharing no memory with `bytes`. Whatever the bytes are, this
 * returns or throws a BundleError; it does not limit their number.
 * @throws BundleError BUNDLE_MAGIC, _VERSION, _LENGTH, _CHECKSUM, _SCHEMA or _SEMANTICS, in this
 * order.
 */
export function decodeBundle(bytes: Uint8Array): Bundle {
  return validateBundle(valueOfBytes(bytes));
}

/**
 * Checks a value and everything in it, and returns it frozen (typed arrays apart, which cannot be).
 * What it returns cannot make the runtime throw or read out of range.
 *
 * @param value a Bundle in memory, or the decoded payload, where the data of a table is bytes.
 * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
 */
export function validateBundle(value: unknown): Bundle {
  const { method } = (value ?? {}) as { method?: unknown };
  return methodNamed(method).read(value);
}
