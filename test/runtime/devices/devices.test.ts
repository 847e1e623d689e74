/** Names of devices, and memory of processes as Linux reports it. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { exposition } from "../../../runtime/base/exposition.ts";
import { describeDevice } from "../../../runtime/devices/describe-device.ts";
import { drmMemoryBytes } from "../../../runtime/devices/drm-memory.ts";
import { nameOf } from "../../../runtime/devices/names.ts";
import { HeldOutput } from "../../../runtime/exec/process/spawn-worker.ts";
import { gpuLines } from "../../../runtime/server/metrics/gpu-lines.ts";

test("processors have a name and no driver", async () => {
  const described = await describeDevice({ provider: "cpu", id: null, environment: {} });
  expect(described).toEqual({ name: expect.stringMatching(/\S/), driver: null });
  expect(nameOf("  One |  Two\n")).toBe("One Two");
});

const AMD = `pos:\t0
drm-driver:\tamdgpu
drm-client-id:\t42
drm-pdev:\t0000:03:00.0
drm-memory-vram:\t2048 KiB
drm-memory-gtt: \t100 KiB
`;

test("memory of a process is device memory, counting each client once", () => {
  expect(drmMemoryBytes([AMD, AMD, AMD.replace("42", "43"), "pos:\t0\n"])).toBe(4 * 2 ** 20);
});

test("a device without memory of its own uses shared memory", () => {
  const intel = "drm-client-id: 7\ndrm-total-system0: 9 MiB\ndrm-resident-system0: 5 MiB\n";
  expect(drmMemoryBytes([intel])).toBe(5 * 2 ** 20);
  expect(drmMemoryBytes([`${intel}drm-resident-local0: 3 MiB\n`])).toBe(3 * 2 ** 20);
});

test("a process without a device has no memory figure", () => {
  expect(drmMemoryBytes(["pos:\t0\nflags:\t02\n"])).toBeNull();
  // NVIDIA's descriptors name a client and no memory.
  expect(drmMemoryBytes(["drm-driver: nvidia-drm\ndrm-client-id: 1\n"])).toBeNull();
});

test("metrics exist for readable values only", () => {
  expect(gpuLines(null, [{ model: "one", pids: [1] }])).toEqual([]);
  const gpu = {
    uuid: "GPU-1",
    utilization: 0.5,
    memoryTotalBytes: 10,
    memoryUsedBytes: null,
    powerWatts: null,
    powerLimitWatts: null,
  };
  const sample = { gpus: [gpu], bytesByPid: new Map([[12, 7]]) };
  const workers = [
    { model: "one", pids: [undefined, 11] },
    { model: "two", pids: [11, 12] },
  ];
  const series = exposition(gpuLines(sample, workers))
    .split("\n")
    .filter((one) => !/^#|^$/.test(one));
  expect(series).toEqual([
    'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5',
    'nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 10',
    'stratagem_worker_gpu_memory_bytes{model="two",worker="1"} 7',
  ]);
});

test("output of a worker is held back until it is released", async () => {
  const [source, sink] = [new PassThrough(), new PassThrough()];
  let printed = "";
  sink.on("data", (chunk) => {
    printed += chunk;
  });
  const held = new HeldOutput(source, sink);
  source.write("Warning: one\n");
  await new Promise(setImmediate);
  expect(printed).toBe("");
  held.letThrough();
  source.write("two\n");
  await new Promise(setImmediate);
  expect(printed).toBe("Warning: one\ntwo\n");
});
