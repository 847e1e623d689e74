/**
 * The device that a worker runs its models on: a provider of onnxruntime, and which of its devices.
 */
import type { Provider } from "../../bundle/schema.ts";
import type { DeviceOfWorker } from "../../devices/device-environment.ts";

export type { Provider };

export type ProviderOptions = Readonly<Record<string, string | boolean | readonly string[]>>;

export interface WorkerDevice extends DeviceOfWorker {
  /** Provider options, named as in onnxruntime. */
  readonly options: ProviderOptions;
}

export function defaultDevice(provider: Provider): WorkerDevice {
  return { provider, id: null, environment: {}, options: {} };
}

/** Returns the default device of a provider, once per worker. */
export function devicesOn(provider: Provider, workerCount: number): WorkerDevice[] {
  return new Array<WorkerDevice>(workerCount).fill(defaultDevice(provider));
}

/** Returns a key; workers of devices with the same key can replace one another. */
export function deviceKey({ provider, id, environment, options }: WorkerDevice): string {
  const sorted = (values: object) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([provider, id, sorted(environment), sorted(options)]);
}

/** Returns each distinct device once, in order of first appearance. */
export function distinctDevices(devices: readonly WorkerDevice[]): WorkerDevice[] {
  return [...new Map(devices.map((device) => [deviceKey(device), device])).values()];
}

/** Returns `cuda:0`, or `webgpu` for the default device. */
export function deviceText({ provider, id }: Pick<WorkerDevice, "provider" | "id">): string {
  return id === null ? provider : `${provider}:${id}`;
}
