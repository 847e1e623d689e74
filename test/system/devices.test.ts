/** Devices without a driver, and GPUs as a script in place of nvidia-smi reports them. */
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { describeDevice } from "../../runtime/devices/describe-device.ts";
import { GpuSampler } from "../../runtime/devices/gpu-sampler.ts";
import { testWith } from "./needs.ts";

const LOADER = "/usr/lib/x86_64-linux-gnu/libvulkan.so.1";
const CLI = "runtime/dist/cli.js";

const hasLoader = existsSync(LOADER);

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
    /^RUNTIME_DEVICE .* on webgpu: VK_DRIVER_FILES names .*, which does not exist: .*\n$/,
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

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "nvidia-smi-"));
  await writeFile(join(folder, "nvidia-smi"), NVIDIA_SMI, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
});
afterEach(() => vi.unstubAllEnvs());

/** Two GPUs, of which the second is divided by MIG. */
const NVIDIA_SMI = `#!/bin/sh
[ -n "$NVIDIA_FAKE_CRASH" ] && kill -SEGV $$
case "$1" in
-L) cat <<END
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-aaaa-bbbb-cccc-000000000001)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-22222222-aaaa-bbbb-cccc-000000000002)
  MIG 1g.5gb      Device  0: (UUID: MIG-33333333-aaaa-bbbb-cccc-000000000003)
  MIG 1g.5gb      Device  1: (UUID: MIG-44444444-aaaa-bbbb-cccc-000000000004)
END
;;
--query-gpu=driver_version) echo 550.54.14; echo 550.54.14 ;;
--query-gpu=uuid,*)
  echo "GPU-11111111-aaaa-bbbb-cccc-000000000001, 42, 81920, 6144, 312.50, 700.00"
  echo "GPU-22222222-aaaa-bbbb-cccc-000000000002, [N/A], 40960, 10, 60.00, 400.00" ;;
--query-compute-apps=*)
  echo "$NVIDIA_FAKE_PID, 3072"; echo "$NVIDIA_FAKE_PID, 2"; echo "9, [N/A]" ;;
esac
`;

function described(id: string | null, environment: Readonly<Record<string, string>> = {}) {
  return describeDevice({ provider: "cuda", id, environment });
}

test("a GPU is named by its number, its UUID, or that of an instance of it", async () => {
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

test("workers count in the order of the bus, unless CUDA has another", async () => {
  expect(await described("1")).toMatchObject({ name: "NVIDIA A100-SXM4-40GB" });
  vi.stubEnv("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  // Which that is depends on how fast they are.
  expect(await described("1")).toBeNull();
});

test("a GPU has no name where nvidia-smi crashes or is missing", async () => {
  expect(await described("GPU-11111111", { NVIDIA_FAKE_CRASH: "yes" })).toBeNull();
  vi.stubEnv("PATH", "/nonexistent");
  expect(await described("GPU-11111111")).toBeNull();
});

test("GPUs and the memory of workers on them are sampled", async () => {
  vi.stubEnv("NVIDIA_FAKE_PID", "12");
  const sampler = new GpuSampler(() => [12]);
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
      },
      expect.objectContaining({ utilization: null, powerWatts: 60 }),
    ]);
    expect(sample.bytesByPid).toEqual(new Map([[12, 3 * 2 ** 30 + 2 * 2 ** 20]]));
  } finally {
    sampler.close();
  }
});

function expectThere<Value>(value: Value | null): Value {
  if (value === null) throw new Error("it is not there yet");
  return value;
}
