/** Says what environment a worker has for its device. */
import { isNvidia, type Provider } from "../bundle/schema.ts";

/** As far as drivers are concerned. */
export interface DeviceOfWorker {
  readonly provider: Provider;
  /**
   * Which one: an index, or what NVIDIA calls a device or a part of it (`GPU-…`, `MIG-…`); null for
   * the default one.
   */
  readonly id: string | null;
  /** Variables that it has beside the server's. */
  readonly environment: Readonly<Record<string, string>>;
}

const VISIBLE = "CUDA_VISIBLE_DEVICES";
const ORDER = "CUDA_DEVICE_ORDER";

/**
 * Variables of a worker beside those of the server. A worker on a device of NVIDIA's sees no other:
 * an index counts among those that the server sees.
 * @param own environment of the server.
 */
export function deviceEnvironment(
  { provider, id, environment }: DeviceOfWorker,
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  if (!isNvidia(provider) || id === null) return { ...environment };
  // CUDA counts the fastest first, whoever tells of devices by where they are.
  const order = own[ORDER] ?? "PCI_BUS_ID";
  const seen = own[VISIBLE]?.split(",").map((one) => one.trim()) ?? [];
  const visible = /^\d+$/.test(id) ? (seen[Number(id)] ?? id) : id;
  return { [ORDER]: order, [VISIBLE]: visible, ...environment };
}
