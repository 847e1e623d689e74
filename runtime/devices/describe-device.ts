/** Names the device that models run on: a processor, or an accelerator with its driver. */
import type { DeviceDescription } from "../bundle/schema.ts";
import { type DeviceOfWorker, deviceEnvironment } from "./device-environment.ts";
import { modelEnvironment } from "./model-environment.ts";
import { processorName } from "./names.ts";
import { nvidiaDevice } from "./nvidia-smi.ts";

/**
 * @returns null for WebGPU, which does not report its device, if nvidia-smi or the device is
 * missing, or if several different GPUs match.
 */
export async function describeDevice(device: DeviceOfWorker): Promise<DeviceDescription | null> {
  if (device.provider === "cpu") return { name: processorName(), driver: null };
  if (device.provider === "webgpu") return null;
  const env = { ...modelEnvironment(), ...deviceEnvironment(device) };
  const [first = ""] = (env["CUDA_VISIBLE_DEVICES"] ?? "0").split(",");
  return nvidiaDevice(first.trim(), env["CUDA_DEVICE_ORDER"] === "PCI_BUS_ID", env);
}
