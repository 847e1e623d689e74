/** Environment variables that select a worker's device. */
import { isNvidia, type Provider } from "../bundle/schema.ts";

/** Device of a worker as far as drivers need it. */
export interface DeviceOfWorker {
  readonly provider: Provider;
  /** Index, or NVIDIA's name of a device or instance (`GPU-…`, `MIG-…`); null for the default. */
  readonly id: string | null;
  /** Variables in addition to the server's. */
  readonly environment: Readonly<Record<string, string>>;
}

const VISIBLE = "CUDA_VISIBLE_DEVICES";
const ORDER = "CUDA_DEVICE_ORDER";

/**
 * Variables of a worker in addition to the server's. A worker on an NVIDIA device sees only that
 * one; an index refers to the devices that the server sees.
 * @param own environment of the server.
 */
export function deviceEnvironment(
  { provider, id, environment }: DeviceOfWorker,
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  if (!isNvidia(provider) || id === null) return { ...environment };
  // CUDA orders devices by speed by default, unlike tools that list them.
  const order = own[ORDER] ?? "PCI_BUS_ID";
  const seen = own[VISIBLE]?.split(",").map((one) => one.trim()) ?? [];
  const visible = /^\d+$/.test(id) ? (seen[Number(id)] ?? id) : id;
  return { [ORDER]: order, [VISIBLE]: visible, ...environment };
}
