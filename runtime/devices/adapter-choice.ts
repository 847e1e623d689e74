/**
 * Says which Vulkan device WebGPU takes: onnxruntime runs it on Dawn, which tells nobody what it
 * chose, so its choice is made again here.
 *
 * onnxruntime asks for power preference "high performance" (its
 * core/providers/webgpu/webgpu_context.cc and webgpu_provider_factory.cc). Dawn then leaves out
 * devices that lack a feature it needs (src/dawn/native/vulkan/PhysicalDeviceVk.cpp,
 * `InitializeImpl`) and takes the first by kind: discrete GPU, integrated GPU, CPU, any other
 * (src/dawn/native/Adapter.cpp, `SortAdapters`); of one kind the loader's order decides.
 */

/** One that the loader enumerates. */
export interface VulkanDevice {
  readonly name: string;
  /** Its driver with its version. */
  readonly driver: string;
  readonly kind: "other" | "integrated" | "discrete" | "virtual" | "cpu";
  /** Features that Dawn needs and that it does not have. */
  readonly lacks: readonly string[];
}

/** By VkPhysicalDeviceType. */
export const KINDS: readonly VulkanDevice["kind"][] = [
  "other",
  "integrated",
  "discrete",
  "virtual",
  "cpu",
];

const RANKS: Readonly<Record<VulkanDevice["kind"], number>> = {
  discrete: 0,
  integrated: 1,
  cpu: 2,
  virtual: 3,
  other: 3,
};

/** Undefined where WebGPU finds none that it takes. */
export function chosenDevice(devices: readonly VulkanDevice[]): VulkanDevice | undefined {
  const taken = devices.filter(({ lacks }) => lacks.length === 0);
  return taken.toSorted((a, b) => RANKS[a.kind] - RANKS[b.kind])[0];
}

/** Features that Dawn needs, by their place in VkPhysicalDeviceFeatures. */
const NEEDED_FEATURES: ReadonlyMap<number, string> = new Map([
  [0, "robustBufferAccess"],
  [1, "fullDrawIndexUint32"],
  [2, "imageCubeArray"],
  [3, "independentBlend"],
  [6, "sampleRateShading"],
  [12, "depthBiasClamp"],
  [26, "fragmentStoresAndAtomics"],
  [33, "shaderUniformBufferArrayDynamicIndexing"],
  [34, "shaderSampledImageArrayDynamicIndexing"],
  [35, "shaderStorageBufferArrayDynamicIndexing"],
  [36, "shaderStorageImageArrayDynamicIndexing"],
]);
const ETC2 = 20;
const ASTC = 21;
const BC = 22;

/** @param hasFeature whether the device has the feature at a place of VkPhysicalDeviceFeatures. */
export function lackedFeatures(hasFeature: (place: number) => boolean): string[] {
  const lacked = [...NEEDED_FEATURES].filter(([place]) => !hasFeature(place));
  const names = lacked.map(([, name]) => name);
  const compresses = hasFeature(BC) || (hasFeature(ETC2) && hasFeature(ASTC));
  return compresses ? names : [...names, "textureCompressionBC"];
}
