/** Missing parts of a device, found from texts of onnxruntime, the Vulkan loader and ld.so. */
import { expect, test } from "vitest";
import {
  CUDA_DRIVER,
  type DeviceFacts,
  isOfDevice,
  missingPart,
  VULKAN_LOADER,
} from "../../../runtime/devices/missing.ts";

/** onnxruntime-node 1.30.0, whatever Vulkan lacks. */
const NO_ADAPTER =
  "/onnxruntime_src/onnxruntime/core/providers/webgpu/webgpu_context.cc:136 " +
  "onnxruntime::webgpu::WebGpuContext::Initialize(const " +
  "onnxruntime::webgpu::WebGpuContextConfig&)::<lambda()> adapter_result.status == " +
  "wgpu::RequestAdapterStatus::Success was false. Failed to get a WebGPU adapter: No supported " +
  "adapters";
const NO_CUDA = "OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library";
const NO_TENSORRT =
  "OrtSessionOptionsAppendExecutionProvider_TensorRT: Failed to load shared library";
/** process.dlopen of a library that is not there, and of one that needs another. */
const ABSENT = "cannot open shared object file: No such file or directory";
const needs = (library: string) => `${library}: ${ABSENT}`;

const HERE: DeviceFacts = {
  platform: "linux",
  arch: "x64",
  drivers: {
    variable: "VK_ICD_FILENAMES",
    named: null,
    absent: [],
    folders: ["/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"],
    found: [],
  },
  libraries: { [CUDA_DRIVER]: ABSENT },
};

function webgpu(facts: Partial<DeviceFacts>): string | null {
  expect(isOfDevice("webgpu", NO_ADAPTER)).toBe(true);
  return missingPart("webgpu", NO_ADAPTER, { ...HERE, ...facts });
}

function cuda(libraries: DeviceFacts["libraries"], reason = NO_CUDA): string | null {
  expect(isOfDevice("cuda", reason)).toBe(true);
  return missingPart("cuda", reason, { ...HERE, libraries });
}

test("a missing Vulkan loader is named with the command that installs it", () => {
  expect(webgpu({ libraries: { [VULKAN_LOADER]: needs(VULKAN_LOADER) } })).toBe(
    "libvulkan.so.1 is missing: apt-get install libvulkan1 (elsewhere vulkan-loader)",
  );
});

test("without a Vulkan driver the searched folders are named", () => {
  expect(webgpu({})).toBe(
    "no Vulkan driver is in /etc/vulkan/icd.d, /usr/share/vulkan/icd.d; install a newer " +
      "driver of the GPU, such as mesa-vulkan-drivers, or set VK_DRIVER_FILES",
  );
});

test("NVIDIA's driver without graphics support is recognized, as in containers", () => {
  expect(webgpu({ libraries: { [CUDA_DRIVER]: null } })).toMatch(
    /in a container, set NVIDIA_DRIVER_CAPABILITIES=all$/,
  );
});

test("a configured driver file that does not exist is named", () => {
  const named = ["/nonexistent.json"];
  const drivers = { ...HERE.drivers, named, absent: named };
  expect(webgpu({ drivers })).toBe(
    "VK_ICD_FILENAMES names /nonexistent.json, which does not exist: set it to a Vulkan driver " +
      "file",
  );
});

test("drivers that find no GPU are named", () => {
  const found = ["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"];
  const drivers = { ...HERE.drivers, found };
  expect(webgpu({ drivers })).toMatch(
    /^the Vulkan drivers \/usr.*radeon_icd.* offer no GPU that WebGPU accepts; check whether/,
  );
});

test("a provider that the platform's onnxruntime-node lacks is reported", () => {
  // As onnxruntime-common says it of any name it does not know.
  const reason = "no available backend found. ERR: [webgpu] backend not found.";
  expect(isOfDevice("webgpu", reason)).toBe(true);
  const facts = { ...HERE, platform: "freebsd", arch: "x64" };
  expect(missingPart("webgpu", reason, facts)).toBe(
    "onnxruntime-node has no webgpu for freebsd x64; serve on another device",
  );
  expect(missingPart("cuda", NO_CUDA, { ...HERE, arch: "arm64" })).toMatch(/no cuda for linux/);
});

test("onnxruntime's own libraries are installed by one command", () => {
  const install =
    "node node_modules/onnxruntime-node/script/install --onnxruntime-node-install=cuda12";
  const name = "libonnxruntime_providers_shared.so";
  expect(cuda({ [name]: ABSENT })).toBe(`${name} is missing: ${install}`);
  // The note that an install without CUDA leaves in its place.
  expect(cuda({ [name]: "Failed to load shared library: file too short" })).toBe(
    `${name} cannot be loaded (file too short): ${install}`,
  );
  const facts = { ...HERE, libraries: { "libonnxruntime_providers_tensorrt.so": ABSENT } };
  expect(isOfDevice("tensorrt", NO_TENSORRT)).toBe(true);
  expect(missingPart("tensorrt", NO_TENSORRT, facts)).toMatch(/^libonnxruntime_providers_tensorrt/);
});

test.each([
  ["libcudart.so.12", "cuda-libraries-12-9"],
  ["libcublasLt.so.12", "cuda-libraries-12-9"],
  ["libcudnn.so.9", "libcudnn9-cuda-12"],
  ["libnvinfer.so.10", "libnvinfer10 libnvinfer-plugin10 libnvonnxparsers10"],
])("a missing dependency, %s, is named", (library, packages) => {
  const owner = "libonnxruntime_providers_cuda.so";
  expect(cuda({ [owner]: needs(library) })).toBe(
    `${library}, which ${owner} needs, is missing: apt-get install ${packages} ` +
      "(from NVIDIA's repository)",
  );
  // Where only onnxruntime told it.
  const reason = `Failed to load library x.so: ${library}: cannot open shared object file`;
  expect(cuda({}, reason)).toMatch(new RegExp(`^${library} is missing: apt-get install`));
});

test("libraries without a driver and a driver without a GPU are distinguished", () => {
  expect(cuda({ [CUDA_DRIVER]: ABSENT }, "CUDA failure 35: driver version is insufficient")).toBe(
    "NVIDIA's driver (libcuda.so.1) is missing: apt-get install nvidia-driver, or run the " +
      "container with --gpus all",
  );
  const there = { [CUDA_DRIVER]: null };
  expect(cuda(there, "CUDA failure 35: driver version is insufficient")).toMatch(/too old/);
  expect(cuda(there, "CUDA failure 100: no CUDA-capable device is detected")).toMatch(
    /^this process sees no NVIDIA GPU/,
  );
  expect(cuda(there)).toBeNull();
});

test("an error of the model is not attributed to the device", () => {
  const reason = "expected the inputs x float32; has y float32";
  for (const provider of ["cuda", "tensorrt", "webgpu"] as const) {
    expect(isOfDevice(provider, reason)).toBe(false);
  }
});
