/** Measured, compiled and served on WebGPU as people do it, and a worker of it is killed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { drawImages, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import {
  type Answer,
  answersApart,
  ask,
  type DeviceServer,
  type SentInput,
  serveOn,
} from "../support/device-server.ts";
import { stratagem } from "../support/run-cli.ts";
import { vulkanEnvironment, vulkanMissing } from "../support/vulkan.ts";
import { testWith } from "./needs.ts";

const TOLERANCE = 1e-3;
const SEED = 21;
/** A start takes seconds, and more where cores are short. */
const PATIENCE_MS = 120_000;
const MODELS = resolve("models", "image-classification");

const environment = vulkanEnvironment();
Object.assign(process.env, environment);
const withVulkan = testWith(vulkanMissing(), environment !== null);

const folder = mkdtempSync(join(tmpdir(), "stratagem-webgpu-"));
const profile = join(folder, "profile.json");
const bundle = join(folder, "app.msgpack");
const running: DeviceServer[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(running.splice(0).map((server) => server.close()));
});
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }));

/** Two models that are small enough for a device that computes on the processor. */
const SPEC = {
  version: 1,
  application: "letters",
  slo: { latency: "20 s" },
  workload: { loads: [4], arrivals: { process: "poisson" } },
  cluster: { workers: 1 },
  tasks: [
    {
      name: "classify",
      variants: ["mlp-s", "mlp-m"].map((name, at) => ({
        name,
        accuracy: 0.7 + at / 10,
        profile: `profile.json#${name}`,
        model: join(MODELS, `${name}.onnx`),
      })),
    },
  ],
  policy: { method: "ramsis", maxQueue: 8 },
};

beforeAll(() => {
  if (environment === null) return;
  const app = join(folder, "app.json");
  writeFileSync(app, JSON.stringify(SPEC));
  const means = ["--device", "webgpu", "--batches", "1,2,4", "--repeat", "3", "--budget", "20s"];
  const profiled = stratagem("profile", app, "-o", profile, "--force", ...means);
  expect([profiled.status, profiled.stderr]).toEqual([0, expect.any(String)]);
  const compiled = stratagem("compile", app, "-o", bundle);
  expect([compiled.status, compiled.stderr]).toEqual([0, ""]);
}, 300_000);

async function served(device: string, ...more: string[]): Promise<DeviceServer> {
  const server = await serveOn(device, bundle, MODELS, ...more);
  running.push(server);
  return server;
}

function letters(rows: number): SentInput {
  const { pixels } = drawImages(SEED, rows);
  return { name: "pixels", datatype: "UINT8", shape: [rows, IMAGE_BYTES], data: [...pixels] };
}

withVulkan("profile measures every batch of every variant on WebGPU", () => {
  const { variants } = JSON.parse(readFileSync(profile, "utf8"));
  expect(Object.keys(variants)).toEqual(["mlp-s", "mlp-m"]);
  for (const { latencyMs } of Object.values<{ latencyMs: object }>(variants)) {
    expect(Object.keys(latencyMs)).toEqual(["1", "2", "4"]);
  }
});

withVulkan("answers are those of the processor, and bench counts every one", async () => {
  const elsewhere = served("cpu", "--accept-other-hardware");
  const [webgpu, cpu] = await Promise.all([served("webgpu"), elsewhere]);
  for (const rows of [1, 2, 3]) {
    const answers = [webgpu, cpu].map(({ url }) => ask(url, "letters", [letters(rows)]));
    const [found, expected] = await Promise.all(answers);
    expect([found?.status, expected?.status]).toEqual([200, 200]);
    expect(found?.parameters).toEqual(expected?.parameters);
    expect(answersApart(expected as Answer, found as Answer)).toBeLessThan(TOLERANCE);
  }
  await cpu.close();
  const load = ["--arrivals", "poisson:4", "--duration", "5s", "--slo", "20s", "--json"];
  const { status, stdout, stderr } = stratagem("bench", webgpu.url, ...load);
  expect([status, stderr]).toEqual([0, ""]);
  const { queries, satisfied, late, dropped, errors } = JSON.parse(stdout);
  expect(queries).toBeGreaterThan(0);
  expect({ satisfied, late, dropped, errors }).toEqual({
    ...{ satisfied: queries, late: 0, dropped: 0, errors: {} },
  });
});

withVulkan("requests outlive a worker that is killed; the next one is on WebGPU too", async () => {
  const server = await served("webgpu", "--standby", "1");
  const first = server.workers();
  expect(first).toHaveLength(2);
  const answers: Answer[] = [];
  // One of them has the requests, the other stands by: both go, one after the other.
  for (const pid of first) {
    const sent = Array.from({ length: 6 }, () => ask(server.url, "letters", [letters(1)]));
    process.kill(pid, "SIGKILL");
    answers.push(...(await Promise.all(sent)));
    await expect
      .poll(() => server.workers().filter((one) => hasVulkan(one)), { timeout: PATIENCE_MS })
      .toHaveLength(2);
  }
  expect(await server.metric("stratagem_workers_lost_total")).toBeGreaterThan(0);
  for (const { status, error } of answers) {
    if (status !== 200) expect(error).toContain("worker");
  }
  expect(answers.map(({ status }) => status)).toContain(200);
  expect(server.workers().filter((pid) => first.includes(pid))).toEqual([]);
  const status = async () => (await ask(server.url, "letters", [letters(1)])).status;
  await expect.poll(status, { timeout: PATIENCE_MS }).toBe(200);
});

/** Whether a process has loaded what finds drivers of Vulkan. */
function hasVulkan(pid: number): boolean {
  return readFileSync(`/proc/${pid}/maps`, "utf8").includes("libvulkan");
}

withVulkan("auto takes WebGPU where there is no CUDA", async () => {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", "");
  const server = await served("auto", "--standby", "0");
  expect(await ask(server.url, "letters", [letters(1)])).toMatchObject({ status: 200 });
  expect(server.workers().map(hasVulkan)).toEqual([true]);
});

withVulkan("without a driver the device is named, and nothing is served", () => {
  vi.stubEnv("VK_ICD_FILENAMES", "none");
  vi.stubEnv("VK_DRIVER_FILES", "none");
  const where = ["--policy", bundle, "--models", MODELS, "--http", "127.0.0.1:0"];
  const { status, stdout, stderr } = stratagem("serve", ...where, "--device", "webgpu");
  expect([status, stdout]).toEqual([65, ""]);
  expect(stderr.split("\n").filter((line) => /^RUNTIME_DEVICE .*webgpu/.test(line))).toHaveLength(
    1,
  );
});
