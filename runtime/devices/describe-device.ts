/** Names what models run on: a processor, or an accelerator and its driver. */
import type { DeviceDescription } from "../bundle/schema.ts";
import { chosenDevice, type VulkanDevice } from "./adapter-choice.ts";
import { type DeviceOfWorker, deviceEnvironment } from "./device-environment.ts";
import { modelEnvironment } from "./model-environment.ts";
import { processorName } from "./names.ts";
import { ask } from "./questions.ts";

/**
 * Asks the drivers, in a process of its own with the environment that the worker has.
 * @returns null where it cannot be told: no device, no driver, a platform where nobody tells, or
 * several accelerators of which it is not known which is meant.
 */
export async function describeDevice(device: DeviceOfWorker): Promise<DeviceDescription | null> {
  if (device.provider === "cpu") return { name: processorName(), driver: null };
  const env = { ...modelEnvironment(), ...deviceEnvironment(device) };
  if (device.provider === "webgpu") {
    const report = await ask({ ask: "vulkan" }, env);
    return report === null ? null : vulkanDescription(report.devices, process.platform);
  }
  const [first = ""] = (env["CUDA_VISIBLE_DEVICES"] ?? "0").split(",");
  const isInBusOrder = env["CUDA_DEVICE_ORDER"] === "PCI_BUS_ID";
  return ask({ ask: "nvidia", id: first.trim(), isInBusOrder }, env);
}

/**
 * @param platform on Windows Dawn runs on Direct3D, whose order Vulkan does not tell: the device is
 * known where there is one.
 */
export function vulkanDescription(
  devices: readonly VulkanDevice[],
  platform: NodeJS.Platform,
): DeviceDescription | null {
  const hardware = devices.filter(({ kind }) => kind !== "cpu");
  if (platform === "win32" && new Set(hardware.map(({ name }) => name)).size !== 1) return null;
  const chosen = chosenDevice(platform === "win32" ? hardware : devices);
  return chosen === undefined ? null : { name: chosen.name, driver: chosen.driver };
}
