/** Says what of the environment processes get that run models or ask devices. */

/**
 * What of the server's environment they get, because libraries, drivers and onnxruntime ask for it.
 * All else stays: credentials, and what would change Node (`NODE_OPTIONS`).
 */
const PASSED_NAMES: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "SYSTEMROOT"],
  ...["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GLIBC_TUNABLES"],
  ...["DRI_PRIME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_DATA_DIRS"],
]);
/**
 * Of languages and memory; of onnxruntime and its threads; of CUDA and its cache; of Vulkan, for
 * WebGPU.
 */
const PASSED_PREFIXES: readonly string[] = [
  ...["LC_", "MALLOC_"],
  ...["ORT_", "OMP_", "KMP_"],
  ...["CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_"],
  ...["VK_", "MESA_", "DAWN_"],
  // Where NVIDIA's driver keeps compiled shaders, those of Vulkan too.
  "__GL_SHADER_DISK_CACHE",
];

/**
 * Without it, builds of onnxruntime send what they do to their maker, and keep a database in the
 * home and a file in the folder for temporary ones.
 */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: "1" };

/** What of this process's environment one that runs models gets. */
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
