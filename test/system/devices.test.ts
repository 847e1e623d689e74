/**
 * Devices as drivers tell them: Chromium's software driver for Vulkan, no driver at all, and a
 * stand-in for NVIDIA's library. Not verified on NVIDIA's hardware.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { describeDevice } from "../../runtime/devices/describe-device.ts";
import { GpuSampler } from "../../runtime/devices/gpu-sampler.ts";
import { testWith } from "./needs.ts";

const SOFTWARE_DRIVER = "/usr/lib/chromium/vk_swiftshader_icd.json";
const LOADER = "/usr/lib/x86_64-linux-gnu/libvulkan.so.1";
const CLI = "runtime/dist/cli.js";

const hasLoader = existsSync(LOADER);
const onVulkan = testWith("chromium and libvulkan1", existsSync(SOFTWARE_DRIVER) && hasLoader);

onVulkan("the software driver is named as Vulkan names it", async () => {
  const environment = { VK_ICD_FILENAMES: SOFTWARE_DRIVER };
  const described = await describeDevice({ provider: "webgpu", id: null, environment });
  expect(described).toEqual({
    name: expect.stringMatching(/^SwiftShader Device \(.+\)$/),
    driver: expect.stringMatching(/^SwiftShader driver \d+\.\d+\.\d+$/),
  });
});

/** All that is printed when a server is to run on a device that is of no use. */
function refusedBy(command: string, args: string[], device: string, env: NodeJS.ProcessEnv) {
  const serve = ["serve", "--policy", "policies/letters/bundle.msgpack"];
  const models = ["--models", "models/image-classification", "--http", "127.0.0.1:0"];
  const all = [...args, CLI, ...serve, ...models, "--device", device];
  const own = { PATH: process.env["PATH"], ...env };
  const { stderr, status } = spawnSync(command, all, { env: own, encoding: "utf8" });
  expect(status).not.toBe(0);
  return stderr;
}

const withoutDriver = testWith("libvulkan1", hasLoader);
withoutDriver("without a driver of Vulkan the server says so in one line", () => {
  const env = { VK_DRIVER_FILES: "/nonexistent.json" };
  expect(refusedBy(process.execPath, [], "webgpu", env)).toMatch(
    /^RUNTIME_DEVICE .* on webgpu: VK_DRIVER_FILES names \/nonexistent\.json, which is.*\n$/,
  );
});

const hasBwrap = spawnSync("bwrap", ["--dev-bind", "/", "/", "true"]).status === 0;
testWith("bwrap", hasBwrap)("without Vulkan's loader it names the library and the package", () => {
  const hide = hasLoader ? ["--ro-bind", "/dev/null", realpathSync(LOADER)] : [];
  const args = ["--dev-bind", "/", "/", ...hide, process.execPath];
  expect(refusedBy("bwrap", args, "webgpu", {})).toMatch(
    /^RUNTIME_DEVICE .* on webgpu: libvulkan\.so\.1 .*: apt-get install libvulkan1 .*\n$/,
  );
});

const isWithoutCuda = !existsSync(
  "node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so",
);
const withoutCuda = testWith("Linux on x64, without CUDA", isWithoutCuda && process.arch === "x64");
withoutCuda("without onnxruntime's libraries for CUDA it names the command", () => {
  expect(refusedBy(process.execPath, [], "cuda", {})).toMatch(
    /^RUNTIME_DEVICE .* on cuda: libonnxruntime_providers_shared\.so is .*: node .*=cuda12\n$/,
  );
});

const hasCompiler = spawnSync("cc", ["--version"]).status === 0;
const onFake = testWith("a C compiler", hasCompiler);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fake-nvml-"));
  if (!hasCompiler) return;
  const library = join(folder, "libnvidia-ml.so.1");
  const source = "test/system/native/fake-nvml.c";
  execFileSync("cc", ["-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source]);
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

function described(id: string | null, more: Readonly<Record<string, string>> = {}) {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  const environment = { LD_LIBRARY_PATH: folder, ...more };
  return describeDevice({ provider: "cuda", id, environment });
}

onFake("a GPU is named by its number, its UUID, or that of an instance of it", async () => {
  const inOrder = { CUDA_DEVICE_ORDER: "PCI_BUS_ID" };
  const driver = "550.54.14";
  const h100 = { name: "NVIDIA H100 80GB HBM3", driver };
  expect(await described(null, inOrder)).toEqual(h100);
  expect(await described("1", inOrder)).toEqual({ name: "NVIDIA A100-SXM4-40GB", driver });
  expect(await described("GPU-11111111")).toEqual(h100);
  expect(await described("MIG-44444444-aaaa-bbbb-cccc-000000000004")).toEqual({
    name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    driver,
  });
  expect(await described("9", inOrder)).toBeNull();
  expect(await described("GPU-9")).toBeNull();
});

onFake("workers count in the order of the bus, unless CUDA is told another", async () => {
  expect(await described("1")).toMatchObject({ name: "NVIDIA A100-SXM4-40GB" });
  vi.stubEnv("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  // Which that is depends on how fast they are.
  expect(await described("1")).toBeNull();
});

onFake("a driver that crashes takes nobody along", async () => {
  expect(await described("GPU-11111111", { NVIDIA_FAKE_CRASH: "yes" })).toBeNull();
});

onFake("GPUs and the memory of workers on them are sampled, on instances too", async () => {
  const worker = spawn("cat", { stdio: "pipe" });
  vi.stubEnv("LD_LIBRARY_PATH", folder);
  vi.stubEnv("NVIDIA_FAKE_PID", String(worker.pid));
  const sampler = new GpuSampler({ pids: () => [worker.pid ?? 0] });
  try {
    const sample = await vi.waitFor(() => expectThere(sampler.sample), 20_000);
    expect(sample.gpus).toEqual([
      {
        uuid: "GPU-11111111-aaaa-bbbb-cccc-000000000001",
        utilization: 0.42,
        memoryTotalBytes: 80 * 2 ** 30,
        memoryUsedBytes: 6 * 2 ** 30,
        powerWatts: 312.5,
        powerLimitWatts: 700,
        energyJoules: expect.any(Number),
      },
      expect.objectContaining({ utilization: null, powerWatts: 60, energyJoules: null }),
    ]);
    // 3 GiB on the first, by CUDA or Vulkan, and a MiB on each of two instances.
    expect(sample.bytesByPid).toEqual({ [worker.pid ?? 0]: 3 * 2 ** 30 + 2 * 2 ** 20 });
    await vi.waitFor(
      () => expect(sampler.sample?.gpus[0]?.energyJoules).toBeGreaterThan(0),
      20_000,
    );
  } finally {
    sampler.close();
    worker.kill();
  }
});

onFake("who samples is started again when it has died, and not where nothing is", async () => {
  vi.stubEnv("LD_LIBRARY_PATH", folder);
  const sampler = new GpuSampler({ pids: () => [] });
  try {
    await vi.waitFor(() => expectThere(sampler.sample), 20_000);
    const { pid } = sampler;
    process.kill(expectThere(pid), "SIGKILL");
    await vi.waitFor(() => expect(sampler.sample).toBeNull(), 20_000);
    await vi.waitFor(() => expectThere(sampler.sample), 20_000);
    expect(sampler.pid).not.toBe(pid);
  } finally {
    sampler.close();
  }
});

function expectThere<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("it is not there yet");
  return value;
}
