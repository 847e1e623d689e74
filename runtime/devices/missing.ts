/**
 * Explains in one line why a device cannot be used and how to repair it; messages of onnxruntime
 * name lines of its source or internal files.
 */
/** State of the machine, as far as the provider needs it. */
export interface DeviceFacts {
  readonly platform: string;
  readonly arch: string;
  readonly drivers: DriverFiles;
  /** Load error of each library by name or path; null if it can be loaded. */
  readonly libraries: Readonly<Record<string, string | null>>;
}

/** Files that declare Vulkan drivers. */
export interface DriverFiles {
  readonly variable: "VK_DRIVER_FILES" | "VK_ICD_FILENAMES";
  /** Files listed in the variable; null if it is not set. */
  readonly named: readonly string[] | null;
  /** Listed files that do not exist. */
  readonly absent: readonly string[];
  /** Default folders of the loader. */
  readonly folders: readonly string[];
  readonly found: readonly string[];
}

export type Accelerator = "cuda" | "tensorrt" | "webgpu";

/** NVIDIA's driver library. */
export const CUDA_DRIVER = "libcuda.so.1";
export const VULKAN_LOADER = "libvulkan.so.1";

/** Whether an error comes from the device rather than the model. */
export function isOfDevice(provider: Accelerator, reason: string): boolean {
  if (/no available backend|backend not found/i.test(reason)) return true;
  if (provider === "webgpu") return /WebGPU (adapter|device)/i.test(reason);
  return /librar|CUDA (failure|error|driver)|cudnn|\.so\b/i.test(reason);
}

/**
 * @param reason message of onnxruntime.
 * @returns null if no missing part is known.
 */
export function missingPart(
  provider: Accelerator,
  reason: string,
  facts: DeviceFacts,
): string | null {
  if (/no available backend|backend not found/i.test(reason)) {
    const where = `${facts.platform} ${facts.arch}`;
    return `onnxruntime-node has no ${provider} for ${where}; serve on another device`;
  }
  return provider === "webgpu" ? missingOfVulkan(facts) : missingOfCuda(provider, reason, facts);
}

function missingOfVulkan({ platform, drivers, libraries }: DeviceFacts): string | null {
  if (platform !== "linux") return null;
  const loaderError = libraries[VULKAN_LOADER] ?? null;
  if (loaderError !== null) {
    const command = "apt-get install libvulkan1 (elsewhere vulkan-loader)";
    return `${VULKAN_LOADER} ${stateOf(loaderError)}: ${command}`;
  }
  return missingDriver(drivers, libraries[CUDA_DRIVER] === null);
}

function missingDriver(drivers: DriverFiles, hasCuda: boolean): string {
  const { variable, named, absent, folders, found } = drivers;
  const remedy = "install a newer driver of the GPU, such as mesa-vulkan-drivers";
  const first = absent[0];
  if (first !== undefined) {
    return `${variable} names ${first}, which does not exist: set it to a Vulkan driver file`;
  }
  if (named !== null || found.length > 0) {
    const files = (named ?? found).join(", ");
    const may = "whether this user can open /dev/dri/renderD* (group render)";
    const unusable = `the Vulkan drivers ${files} offer no GPU that WebGPU accepts`;
    return `${unusable}; check ${may}, or ${remedy}`;
  }
  const looked = `no Vulkan driver is in ${folders.join(", ")}`;
  if (hasCuda) {
    const graphics = "NVIDIA's driver is installed without graphics support: in a container, set";
    return `${looked}; ${graphics} NVIDIA_DRIVER_CAPABILITIES=all`;
  }
  return `${looked}; ${remedy}, or set VK_DRIVER_FILES`;
}

/** Libraries of onnxruntime by provider, in the folder of the binding. */
export const PROVIDER_LIBRARIES: Readonly<Record<"cuda" | "tensorrt", readonly string[]>> = {
  cuda: ["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"],
  tensorrt: [
    "libonnxruntime_providers_shared.so",
    "libonnxruntime_providers_cuda.so",
    "libonnxruntime_providers_tensorrt.so",
  ],
};

const INSTALL =
  "node node_modules/onnxruntime-node/script/install --onnxruntime-node-install=cuda12";

/** Packages in NVIDIA's repository by prefix of the library. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/^libcudnn/, "libcudnn9-cuda-12"],
  [/^libnv(infer|onnx)/, "libnvinfer10 libnvinfer-plugin10 libnvonnxparsers10"],
  [/^lib(cuda|nvidia)\b/, "nvidia-driver"],
  [/^lib(cu|nv)/, "cuda-libraries-12-9"],
];

function missingOfCuda(
  provider: "cuda" | "tensorrt",
  reason: string,
  { platform, arch, libraries }: DeviceFacts,
): string | null {
  if (platform !== "linux" || arch !== "x64") {
    return `onnxruntime-node has no ${provider} for ${platform} ${arch}; serve on another device`;
  }
  for (const name of PROVIDER_LIBRARIES[provider]) {
    const error = libraries[name] ?? null;
    if (error === null || /undefined symbol/.test(error)) continue;
    const other = libraryIn(error);
    if (other !== null && other !== name) return absentLibrary(other, name);
    return `${name} ${stateOf(error)}: ${INSTALL}`;
  }
  const named = libraryIn(reason);
  if (named !== null && !named.startsWith("libonnxruntime")) return absentLibrary(named, null);
  const driverError = libraries[CUDA_DRIVER] ?? null;
  if (driverError !== null) {
    const remedy = "apt-get install nvidia-driver, or run the container with --gpus all";
    return `NVIDIA's driver (${CUDA_DRIVER}) ${stateOf(driverError)}: ${remedy}`;
  }
  if (/failure (100|101)\b|no CUDA-capable device/.test(reason)) {
    return "this process sees no NVIDIA GPU: check nvidia-smi -L and CUDA_VISIBLE_DEVICES";
  }
  if (/failure 35\b|driver version is insufficient/i.test(reason)) {
    return "NVIDIA's driver is too old for CUDA 12: apt-get install --only-upgrade nvidia-driver";
  }
  return null;
}

function absentLibrary(library: string, of: string | null): string {
  const whose = of === null ? "" : `, which ${of} needs,`;
  const [, packages = "cuda-libraries-12-9"] = PACKAGES.find(([name]) => name.test(library)) ?? [];
  const from = packages === "nvidia-driver" ? "" : " (from NVIDIA's repository)";
  return `${library}${whose} is missing: apt-get install ${packages}${from}`;
}

/** Extracts the library from a loader's message. */
function libraryIn(message: string): string | null {
  const [before = "", after] = message.split(": cannot open", 2);
  const word = before.split(/[\s/]/).at(-1) ?? "";
  return after !== undefined && /^lib[\w-]+\.so(\.\d+)*$/.test(word) ? word : null;
}

function stateOf(error: string): string {
  return /No such file/.test(error) ? "is missing" : `cannot be loaded (${briefly(error)})`;
}

function briefly(error: string): string {
  return error.replace(/^.*shared library: /, "");
}
