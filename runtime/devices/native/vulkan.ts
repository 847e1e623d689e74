/**
 * Asks the Vulkan loader which devices there are, as Dawn sees them. Only for processes that may
 * die of it: drivers are loaded and run.
 *
 * Structures are laid out as in vulkan_core.h for 64 bits.
 */
import koffi, { type LibraryHandle } from "koffi";
import { KINDS, lackedFeatures, type VulkanDevice } from "../adapter-choice.ts";
import { driverName, nameOf } from "../names.ts";
import { type Block, block, textAt } from "./memory.ts";

export interface VulkanReport {
  /** Why the loader could not be loaded; null where it was. */
  readonly loaderError: string | null;
  /** Of vkCreateInstance; 0 for success. */
  readonly result: number;
  readonly devices: readonly VulkanDevice[];
}

/** By `process.platform`; elsewhere WebGPU does not run on Vulkan. */
const LOADERS: Readonly<Record<string, string>> = {
  linux: "libvulkan.so.1",
  win32: "vulkan-1.dll",
};

const API_1_1 = (1 << 22) | (1 << 12);
const APPLICATION_INFO = 0;
const INSTANCE_CREATE_INFO = 1;
const PROPERTIES_2 = 1000059001;
const DRIVER_PROPERTIES = 1000196000;
const FEATURE_COUNT = 55;

export function askVulkan(): VulkanReport {
  let library: LibraryHandle;
  try {
    library = koffi.load(LOADERS[process.platform] ?? "no Vulkan");
  } catch (error) {
    return { loaderError: String(error), result: 0, devices: [] };
  }
  const createInstance = library.func("int vkCreateInstance(void *, void *, _Out_ void **)");
  const destroyInstance = library.func("void vkDestroyInstance(void *, void *)");
  const created: [bigint | null] = [null];
  const result: number = createInstance(instanceInfo().pointer, null, created);
  const [instance] = created;
  if (result !== 0 || instance === null) return { loaderError: null, result, devices: [] };
  const devices = handlesOf(library, instance).map((handle) => described(library, handle));
  destroyInstance(instance, null);
  return { loaderError: null, result, devices };
}

function instanceInfo(): Block {
  const application = block(48);
  application.bytes.setUint32(0, APPLICATION_INFO, true);
  application.bytes.setUint32(44, API_1_1, true);
  const info = block(64);
  info.bytes.setUint32(0, INSTANCE_CREATE_INFO, true);
  info.bytes.setBigUint64(24, application.pointer, true);
  return info;
}

function handlesOf(library: LibraryHandle, instance: bigint): bigint[] {
  const enumerate = library.func(
    "int vkEnumeratePhysicalDevices(void *, _Inout_ uint32_t *, void *)",
  );
  const count: [number] = [0];
  if (enumerate(instance, count, null) !== 0 || count[0] === 0) return [];
  const handles = block(8 * count[0]);
  enumerate(instance, count, handles.pointer);
  return Array.from({ length: count[0] }, (_, place) =>
    handles.bytes.getBigUint64(8 * place, true),
  );
}

function described(library: LibraryHandle, device: bigint): VulkanDevice {
  const askProperties = library.func("void vkGetPhysicalDeviceProperties2(void *, void *)");
  const askFeatures = library.func("void vkGetPhysicalDeviceFeatures(void *, void *)");
  const driver = block(536);
  driver.bytes.setUint32(0, DRIVER_PROPERTIES, true);
  // VkPhysicalDeviceProperties has 824 bytes and begins at 16.
  const properties = block(16 + 824);
  properties.bytes.setUint32(0, PROPERTIES_2, true);
  properties.bytes.setBigUint64(8, driver.pointer, true);
  askProperties(device, properties.pointer);
  const features = block(4 * FEATURE_COUNT);
  askFeatures(device, features.pointer);
  const version = versionText(properties.bytes.getUint32(16 + 4, true));
  const info = textAt(driver, 276, 256) || version;
  return {
    name: nameOf(textAt(properties, 16 + 20, 256)),
    driver: driverName(textAt(driver, 20, 256), info),
    kind: KINDS[properties.bytes.getUint32(16 + 16, true)] ?? "other",
    lacks: lackedFeatures((place) => features.bytes.getUint32(4 * place, true) !== 0),
  };
}

/** As VK_MAKE_VERSION packs it. */
function versionText(packed: number): string {
  return `${packed >>> 22}.${(packed >>> 12) & 0x3ff}.${packed & 0xfff}`;
}
