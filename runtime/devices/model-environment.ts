/** Environment of processes that run models or query devices. */

/**
 * Variables of the server that are passed on, because libraries, drivers and onnxruntime need them.
 * Others are not, such as credentials and Node's own (`NODE_OPTIONS`).
 */
const PASSED_NAMES: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "SYSTEMROOT"],
  ...["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GLIBC_TUNABLES"],
  ...["DRI_PRIME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_DATA_DIRS"],
]);
/**
 * Prefixes of passed variables: locale and memory; onnxruntime and its threads; CUDA and its cache;
 * Vulkan, for WebGPU.
 */
const PASSED_PREFIXES: readonly string[] = [
  ...["LC_", "MALLOC_"],
  ...["ORT_", "OMP_", "KMP_"],
  ...["CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_"],
  ...["VK_", "MESA_", "DAWN_"],
  // Cache of compiled shaders of NVIDIA's driver, including Vulkan's.
  "__GL_SHADER_DISK_CACHE",
];

/**
 * Prevents some builds of onnxruntime from sending telemetry to their maker and from writing a
 * database to the home folder and a temporary file.
 */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: "1" };

/** Environment for a process that runs models. */
export function modelEnvironment(): Record<string, string> {
  const passed: Record<string, string> = { ...NO_TELEMETRY };
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && isPassed(name)) passed[name] = value;
  }
  return passed;
}

function isPassed(name: string): boolean {
  return PASSED_NAMES.has(name) || PASSED_PREFIXES.some((prefix) => name.startsWith(prefix));
}
