/**
 * The devices of a pool as specs, bundles and settings write them: a provider of onnxruntime, and
 * which devices of its kind.
 */

export const PROVIDERS = ["cpu", "cuda", "tensorrt", "webgpu"] as const;

/** A provider as onnxruntime names it. */
export type Provider = (typeof PROVIDERS)[number];

interface PoolDevice {
  readonly provider: Provider;
  /** Indices, or what NVIDIA calls them; none for the default one. Workers take turns on them. */
  readonly ids: readonly string[];
}

/** What `parseDevice` takes. */
export const DEVICE_FORM =
  "cpu, cuda, tensorrt or webgpu; of cuda and tensorrt also which, such as cuda:0,1 or cuda:MIG-…";

const ID = /^(\d{1,3}|(GPU|MIG)-[\w/-]{1,100})$/;

/** @returns null for what is not allowed. */
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

/** What a device is. */
export interface DeviceDescription {
  /** As its driver names it; of processors their model. */
  readonly name: string;
  /** With its version; null where nobody tells, and of processors. */
  readonly driver: string | null;
}

/** `NVIDIA H100, driver 550.54`. */
export function descriptionText({ name, driver }: DeviceDescription): string {
  return driver === null ? name : `${name}, driver ${driver}`;
}

/** Whose devices have ids. */
export function isNvidia(provider: Provider): boolean {
  return provider === "cuda" || provider === "tensorrt";
}

const SCHEMES = ["http:", "https:"];

export const WORKER_URL_FORM = "the URL of a v2 server such as http://10.0.0.7:8000, or https";

/** Whether a text is the URL of a server: a path may follow, but no question and no password. */
export function isWorkerUrl(text: string): boolean {
  // Whoever writes several in one line has commas between them.
  if (text.includes(",") || !URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  if (!SCHEMES.includes(protocol) || hostname === "") return false;
  return [search, hash, username, password].every((part) => part === "");
}
