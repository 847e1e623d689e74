/** Reads and writes bundles, each checked by its own method, the only one that is loaded. */
import { bytesOfBundle, valueOfBytes } from "../bundle/codec.ts";
import type { Bundle } from "../bundle/schema.ts";
import { openMethod } from "../methods/registry.ts";

/** Decodes like `decodeBundle` of checked-bundle.ts. @throws BundleError */
export async function readBundle(bytes: Uint8Array): Promise<Bundle> {
  return checked(valueOfBytes(bytes));
}

/** Encodes like `encodeBundle` of checked-bundle.ts. @throws BundleError */
export async function writeBundle(bundle: Bundle): Promise<Uint8Array> {
  return bytesOfBundle(await checked(bundle));
}

async function checked(value: unknown): Promise<Bundle> {
  const { method } = (value ?? {}) as { method?: unknown };
  return (await openMethod(method)).read(value);
}
