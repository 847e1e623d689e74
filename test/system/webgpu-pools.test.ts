/** Plans of several pools run on processors and on WebGPU at once, and only where they may. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { drawImages, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import { describeDevice } from "../../runtime/devices/describe-device.ts";
import {
  type Answer,
  answersApart,
  ask,
  type DeviceServer,
  readOf,
  serveOn,
} from "../support/device-server.ts";
import {
  type MeasuredScenes,
  pooledCrops,
  pooledScenes,
  SCENE_MODELS,
} from "../support/pooled-scenes.ts";
import { stratagem } from "../support/run-cli.ts";
import { DRAWN_LETTERS, drawnCrop, lettersOf, SCENES } from "../support/scene-requests.ts";
import { vulkanEnvironment, vulkanMissing } from "../support/vulkan.ts";
import { testWith } from "./needs.ts";

const TOLERANCE = 1e-3;
const SEED = 21;
/** A start takes seconds, and more where cores are short. */
const PATIENCE_MS = 120_000;

const environment = vulkanEnvironment();
Object.assign(process.env, environment);
const withVulkan = testWith(vulkanMissing(), environment !== null);

const folder = mkdtempSync(join(tmpdir(), "stratagem-pools-"));
const bundles = { inferline: "", loki: "" };
let here: MeasuredScenes;
beforeAll(async () => {
  if (environment === null) return;
  here = { cpu: await processor(), webgpu: { name: "WebGPU", driver: null } };
  for (const method of ["inferline", "loki"] as const) {
    bundles[method] = pooledScenes(folder, { method, on: here });
  }
});

const running: DeviceServer[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(running.splice(0).map((server) => server.close()));
});
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }));

async function processor() {
  const found = await describeDevice({ provider: "cpu", id: null, environment: {} });
  if (found === null) throw new Error("the processor has no name");
  return found;
}

async function served(device: string | null, bundle: string, ...more: string[]) {
  const server = await serveOn(device, bundle, SCENE_MODELS, ...more);
  running.push(server);
  return server;
}

function refused(bundle: string, ...more: string[]) {
  const where = ["--policy", bundle, "--models", SCENE_MODELS, "--http", "127.0.0.1:0"];
  const { status, stdout, stderr } = stratagem("serve", ...where, "--no-means-check", ...more);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^.+\n$/);
  return { status, stderr };
}

function askFirst(url: string): Promise<Answer> {
  return ask(url, "scenes", SCENES.slice(0, 1));
}

function askAll(url: string): Promise<Answer[]> {
  return Promise.all(SCENES.map((scene) => ask(url, "scenes", [scene])));
}

async function byPool({ samples }: DeviceServer, name: string, label?: string) {
  const own = (await samples(name)).map(({ labels, value }) => {
    return [labels["pool"], label === undefined ? value : labels[label]];
  });
  return Object.fromEntries(own);
}

const rowsOf = (server: DeviceServer) => byPool(server, "stratagem_pool_rows_total");
const matchOf = (server: DeviceServer) => byPool(server, "stratagem_pool_device_info", "match");

/** Process ids of workers, by whether they have loaded what finds drivers of Vulkan. */
function byDevice(server: DeviceServer): { gpu: number[]; processors: number[] } {
  const pids = server.workers();
  const gpu = pids.filter((pid) => readOf(pid, "maps").includes("libvulkan"));
  return { gpu, processors: pids.filter((pid) => !gpu.includes(pid)) };
}

for (const method of ["inferline", "loki"] as const) {
  withVulkan(`${method} finds letters on a processor and names them on WebGPU`, async () => {
    const bundle = bundles[method];
    const [pools, cpu] = await Promise.all([
      served(null, bundle, "--standby", "0"),
      served("cpu", bundle, "--standby", "0", "--accept-other-hardware"),
    ]);
    expect(await matchOf(pools)).toEqual({ processors: "same", gpu: "unknown" });
    expect(await matchOf(cpu)).toEqual({ processors: "same", gpu: "other" });
    const [found, expected] = await Promise.all([askAll(pools.url), askAll(cpu.url)]);
    for (const [at, answer] of found.entries()) {
      expect(answer.status).toBe(200);
      expect(answersApart(expected[at] as Answer, answer)).toBeLessThan(TOLERANCE);
    }
    const named = found.map(lettersOf);
    const right = named.flatMap((letters, at) =>
      letters.filter((one) => DRAWN_LETTERS[at]?.includes(one)),
    );
    expect(right.length).toBeGreaterThan(named.flat().length / 2);
    expect(await rowsOf(pools)).toEqual({ processors: SCENES.length, gpu: named.flat().length });
    const { gpu, processors } = byDevice(pools);
    expect([gpu.length, processors.length]).toEqual([1, 1]);
  });
}

withVulkan("a worker that is killed is followed by one on the device of its pool", async () => {
  const server = await served(null, bundles.loki, "--standby", "1");
  const counts = () => {
    const { gpu, processors } = byDevice(server);
    return [gpu.length, processors.length];
  };
  await expect.poll(counts, { timeout: PATIENCE_MS }).toEqual([2, 2]);
  const [before] = await askAll(server.url);
  expect(before?.status).toBe(200);
  for (const pool of ["gpu", "processors"] as const) {
    const first = byDevice(server)[pool];
    // One of them has the requests, the other stands by: both go, one after the other.
    for (const pid of first) {
      const rows = await rowsOf(server);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => server.workers().includes(pid)).toBe(false);
      await expect.poll(counts, { timeout: PATIENCE_MS }).toEqual([2, 2]);
      const again = async () => answersApart(before as Answer, await askFirst(server.url));
      await expect.poll(again, { timeout: PATIENCE_MS }).toBeLessThan(TOLERANCE);
      const after = await rowsOf(server);
      expect(after["gpu"]).toBeGreaterThan(rows["gpu"]);
      expect(after["processors"]).toBeGreaterThan(rows["processors"]);
    }
    expect(byDevice(server)[pool].filter((pid) => first.includes(pid))).toEqual([]);
  }
  expect(await server.metric("stratagem_workers_lost_total")).toBeGreaterThanOrEqual(2);
});

withVulkan("a bundle that was measured on another device is served only on request", async () => {
  const { status, stderr } = refused(bundles.loki, "--device", "cpu");
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_HARDWARE /);
  const named = ['pool "gpu"', "webgpu (WebGPU", here.cpu.name];
  for (const part of [...named, "--accept-other-hardware"]) expect(stderr).toContain(part);

  const told = ["--standby", "0", "--accept-other-hardware"];
  const server = await served("cpu", bundles.loki, ...told);
  expect(server.told()).toMatch(/the pool "gpu" runs on other hardware than was measured: on cpu/);
  expect(await matchOf(server)).toEqual({ processors: "same", gpu: "other" });
  expect((await askFirst(server.url)).status).toBe(200);
});

withVulkan("a bundle that does not say what it was measured on is served anywhere", async () => {
  const { pixels } = drawImages(SEED, 1);
  const letter = { name: "pixels", datatype: "UINT8", shape: [1, IMAGE_BYTES], data: [...pixels] };
  const models = resolve("models", "image-classification");
  const bundle = join("policies", "letters", "bundle.msgpack");
  const server = await serveOn(null, bundle, models, "--standby", "0");
  running.push(server);
  expect(new Set(Object.values(await matchOf(server)))).toEqual(new Set(["unknown"]));
  expect(server.told()).not.toContain("measured");
  expect((await ask(server.url, "letters", [letter])).status).toBe(200);
});

/** A server without them, whose workers can be given them. */
function withoutVulkanVariables(): string[] {
  const names = Object.keys(process.env).filter((name) => name.startsWith("VK_"));
  const given = names.map((name) => `gpu:${name}=${process.env[name]}`);
  for (const name of names) vi.stubEnv(name, undefined);
  return given.flatMap((variable) => ["--worker-env", variable]);
}

const isByVariable = Object.keys(process.env).some((name) => name.startsWith("VK_"));
const withVariable = testWith(
  "a Vulkan driver that a variable names",
  environment !== null && isByVariable,
);
withVariable(
  "a driver that variables of one pool name is found for it, and for it alone",
  async () => {
    const variables = withoutVulkanVariables();
    expect(refused(bundles.loki)).toEqual({
      ...{ status: 65, stderr: expect.stringMatching(/^RUNTIME_DEVICE .* on webgpu: /) },
    });
    const flags = ["--standby", "0", "--device", "gpu=webgpu", ...variables];
    // What is said of one pool counts before what is said of all.
    const server = await served("cpu", bundles.loki, ...flags);
    expect(await matchOf(server)).toEqual({ processors: "same", gpu: "unknown" });
    expect((await askFirst(server.url)).status).toBe(200);
    const { gpu, processors } = byDevice(server);
    expect([gpu.length, processors.length]).toEqual([1, 1]);
    const has = (pid = 0) => readOf(pid, "environ").includes("\0VK_");
    expect([has(gpu[0]), has(processors[0])]).toEqual([true, false]);
  },
);

withVulkan("what an operator says of devices is judged in one line", () => {
  const hardware = (pool: string) => {
    return { status: 65, stderr: expect.stringMatching(`^RUNTIME_HARDWARE .* pool "${pool}" `) };
  };
  const usage = (what: string) => ({ status: 64, stderr: `RUNTIME_USAGE ${what}\n` });
  expect(refused(bundles.loki, "--device", "cpu")).toEqual(hardware("gpu"));
  expect(refused(bundles.loki, "--device", "gpu=cpu")).toEqual(hardware("gpu"));
  expect(refused(bundles.loki, "--device", "processors=webgpu")).toEqual(hardware("processors"));
  const known = "expected a pool (processors, gpu), got";
  expect(refused(bundles.loki, "--device", "tpu=cpu")).toEqual(usage(`--device: ${known} "tpu"`));
  expect(refused(bundles.loki, "--worker-env", "tpu:A=b")).toEqual(
    usage(`--worker-env: ${known} "tpu"`),
  );
  expect(refused(bundles.loki, "--device", "cuda:0,1")).toEqual(hardware("processors"));
  vi.stubEnv("CUDA_VISIBLE_DEVICES", "");
  expect(refused(bundles.loki, "--device", "cuda:0,1", "--accept-other-hardware")).toEqual({
    ...{ status: 65, stderr: expect.stringMatching(/^RUNTIME_DEVICE .* on cuda:0: /) },
  });
});

withVulkan("a reload of pools on devices loses no request", async () => {
  const bundle = join(folder, "reloaded.msgpack");
  copyFileSync(bundles.loki, bundle);
  const server = await served(null, bundle, "--standby", "0");
  const first = server.workers();
  const answers: Answer[] = [];
  let isOver = false;
  const client = async () => {
    for (let at = 0; !isOver; at++) {
      const next = SCENES.slice(at % SCENES.length).slice(0, 1);
      answers.push(await ask(server.url, "scenes", next));
    }
  };
  const asking = client();
  const reloads = async (result: string) => {
    const all = await server.samples("stratagem_reloads_total");
    return all.find(({ labels }) => labels["result"] === result)?.value ?? 0;
  };
  try {
    copyFileSync(bundles.inferline, bundle);
    server.reload();
    await expect.poll(() => reloads("followed"), { timeout: PATIENCE_MS }).toBe(1);
    const isOld = () => server.workers().some((pid) => first.includes(pid));
    await expect.poll(isOld, { timeout: PATIENCE_MS }).toBe(false);
    expect(await matchOf(server)).toEqual({ processors: "same", gpu: "unknown" });
    const rows = await rowsOf(server);
    await expect.poll(async () => (await rowsOf(server))["gpu"]).toBeGreaterThan(rows["gpu"]);
  } finally {
    isOver = true;
    await asking;
  }
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
});

withVulkan("tables of RAMSIS whose pool is on WebGPU run there without a flag", async () => {
  const server = await served(null, pooledCrops(folder, here), "--standby", "1");
  expect(await matchOf(server)).toEqual({ gpu: "unknown" });
  const answer = await ask(server.url, "scenes", [drawnCrop()]);
  expect(answer.status).toBe(200);
  expect(await rowsOf(server)).toEqual({ gpu: 1 });
  await expect.poll(() => byDevice(server).gpu, { timeout: PATIENCE_MS }).toHaveLength(2);
  expect(byDevice(server).processors).toEqual([]);
});
