/** ConfigMap with the bundle, if it is small enough. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { metaOf, policyName } from "./objects.ts";

/** Limit of all values of a ConfigMap. */
const MAX_CONFIG_MAP_BYTES = 2 ** 20;

/**
 * @param bytes of the bundle's file.
 * @throws RuntimeError RUNTIME_USAGE if it is too large.
 */
export function policyObject(options: ManifestOptions, bytes: Uint8Array): KubernetesObject {
  if (bytes.length > MAX_CONFIG_MAP_BYTES) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `the bundle has ${bytes.length} bytes, but a ConfigMap at most ${MAX_CONFIG_MAP_BYTES}: ` +
        "push it to a registry and use --policy oci://…",
    );
  }
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metaOf(options, policyName(options), "policy"),
    binaryData: { "bundle.msgpack": Buffer.from(bytes).toString("base64") },
  };
}
