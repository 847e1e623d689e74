/** What a worker runs its models on: a provider of onnxruntime, and which device of its kind. */
import type { Provider } from "../../bundle/schema.ts";
import type { DeviceOfWorker } from "../../devices/device-environment.ts";

export type { Provider };

export type ProviderOptions = Readonly<Record<string, string | boolean | readonly string[]>>;

export interface WorkerDevice extends DeviceOfWorker {
  /** As onnxruntime calls the options of the provider. */
  readonly options: ProviderOptions;
}

/** The default device of a provider. */
export function defaultDevice(provider: Provider): WorkerDevice {
  return { provider, id: null, environment: {}, options: {} };
}

/** So many workers on the default device of a provider. */
export function devicesOn(provider: Provider, workerCount: number): WorkerDevice[] {
  return new Array<WorkerDevice>(workerCount).fill(defaultDevice(provider));
}

/** Workers of devices with the same key can stand in for one another. */
export function deviceKey({ provider, id, environment, options }: WorkerDevice): string {
  const sorted = (values: object) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([provider, id, sorted(environment), sorted(options)]);
}

/** Each of the devices once, in the order in which they come first. */
export function distinctDevices(devices: readonly WorkerDevice[]): WorkerDevice[] {
  return [...new Map(devices.map((device) => [deviceKey(device), device])).values()];
}

/** `cuda:0`, or `webgpu` where it is the default one. */
export function deviceText({ provider, id }: Pick<WorkerDevice, "provider" | "id">): string {
  return id === null ? provider : `${provider}:${id}`;
}
