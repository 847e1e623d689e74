/** Bundles from and to bytes, each checked by its own method, which is opened for it alone. */
import { bytesOfBundle, valueOfBytes } from "../bundle/codec.ts";
import type { Bundle } from "../bundle/schema.ts";
import { openMethod } from "../methods/registry.ts";

/** As `decodeBundle` of checked-bundle.ts. @throws BundleError */
export async function readBundle(bytes: Uint8Array): Promise<Bundle> {
  return checked(valueOfBytes(bytes));
}

/** As `encodeBundle` of checked-bundle.ts. @throws BundleError */
export async function writeBundle(bundle: Bundle): Promise<Uint8Array> {
  return bytesOfBundle(await checked(bundle));
}

async function checked(value: unknown): Promise<Bundle> {
  const { method } = (value ?? {}) as { method?: unknown };
  return (await openMethod(method)).read(value);
}
