/**
 * Devices of a pool as specs, bundles and settings write them: a provider of onnxruntime, and its
 * devices.
 */

export const PROVIDERS = ["cpu", "cuda", "tensorrt", "webgpu"] as const;

/** A provider as onnxruntime names it. */
export type Provider = (typeof PROVIDERS)[number];

interface PoolDevice {
  readonly provider: Provider;
  /** Indices or NVIDIA identifiers; empty for the default device. Workers take turns on them. */
  readonly ids: readonly string[];
}

/** Form of a device that `parseDevice` accepts. */
export const DEVICE_FORM =
  "cpu, cuda, tensorrt or webgpu; cuda and tensorrt also with ids, such as cuda:0,1 or cuda:MIG-…";

const ID = /^(\d{1,3}|(GPU|MIG)-[\w/-]{1,100})$/;

/** Returns null for an invalid device. */
export function parseDevice(text: string): PoolDevice | null {
  const colon = text.indexOf(":");
  const name = colon < 0 ? text : text.slice(0, colon);
  const provider = PROVIDERS.find((one) => one === name);
  if (provider === undefined) return null;
  if (colon < 0) return { provider, ids: [] };
  const ids = text.slice(colon + 1).split(",");
  const areIds = ids.every((id) => ID.test(id)) && new Set(ids).size === ids.length;
  return isNvidia(provider) && areIds ? { provider, ids } : null;
}

/** Description of a device. */
export interface DeviceDescription {
  /** Name by its driver; for processors their model. */
  readonly name: string;
  /** Driver and version; null if unknown, and for processors. */
  readonly driver: string | null;
}

/** Returns a text such as `NVIDIA H100, driver 550.54`. */
export function descriptionText({ name, driver }: DeviceDescription): string {
  return driver === null ? name : `${name}, driver ${driver}`;
}

/** Whether devices of the provider have ids. */
export function isNvidia(provider: Provider): boolean {
  return provider === "cuda" || provider === "tensorrt";
}

const SCHEMES = ["http:", "https:"];

export const WORKER_URL_FORM = "the URL of a v2 server such as http://10.0.0.7:8000, or https";

/** Whether a text is the URL of a server: a path may follow, but no question and no password. */
export function isWorkerUrl(text: string): boolean {
  // Several in one line are separated by commas.
  if (text.includes(",") || !URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  if (!SCHEMES.includes(protocol) || hostname === "") return false;
  return [search, hash, username, password].every((part) => part === "");
}
