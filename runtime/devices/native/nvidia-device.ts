/** Finds the GPU or MIG instance that CUDA means by an id. */
import type { DeviceDescription } from "../../bundle/schema.ts";
import type { Nvml, NvmlDevice } from "./nvml.ts";

/**
 * @param id one entry of CUDA_VISIBLE_DEVICES: a number, or the beginning of a UUID.
 * @param isInBusOrder whether CUDA counts in the order of the PCI bus, as NVML does; otherwise it
 * counts the fastest first.
 * @returns null where there is none, or it cannot be told which.
 */
export function nvidiaDevice(
  nvml: Nvml,
  id: string,
  isInBusOrder: boolean,
): DeviceDescription | null {
  const device = found(nvml, id, isInBusOrder);
  const name = device === undefined ? null : nvml.name(device);
  return name === null ? null : { name, driver: nvml.driverVersion() };
}

function found(nvml: Nvml, id: string, isInBusOrder: boolean): NvmlDevice | undefined {
  const devices = nvml.devices();
  if (/^\d+$/.test(id)) {
    const isSure = isInBusOrder || new Set(devices.map((one) => nvml.name(one))).size <= 1;
    return isSure ? devices[Number(id)] : undefined;
  }
  const all = id.startsWith("MIG-") ? devices.flatMap((one) => nvml.migDevices(one)) : devices;
  const meant = all.filter((one) => nvml.uuid(one)?.toLowerCase().startsWith(id.toLowerCase()));
  return meant.length === 1 ? meant[0] : undefined;
}
