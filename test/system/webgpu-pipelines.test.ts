/** Pipelines on WebGPU answer as on the processor: malleable, a cascade, scenes of letters. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { parse } from "yaml";
import { drawImages, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import { drawScenes, SCENE_SIDE } from "../../lab/models/scenes/dataset.ts";
import { bytesOfBundle } from "../../runtime/bundle/codec.ts";
import { realBundle, WIDTH } from "../runtime/methods/accordion/serve/real-places.ts";
import {
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

const environment = vulkanEnvironment();
Object.assign(process.env, environment);
const withVulkan = testWith(vulkanMissing(), environment !== null);

const folder = mkdtempSync(join(tmpdir(), "stratagem-webgpu-"));
const running: DeviceServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }));

async function served(device: string, bundle: string, models: string): Promise<DeviceServer> {
  const server = await serveOn(device, bundle, models, "--standby", "0");
  running.push(server);
  return server;
}

interface Variant {
  readonly name: string;
  profile: string;
  model: string;
}

/**
 * A policy of this repository, compiled for a device that takes its time.
 * @returns the path of its bundle.
 */
function slowBundle(policy: string): string {
  const from = resolve("policies", policy);
  const spec = parse(readFileSync(join(from, "app.yaml"), "utf8"));
  spec.slo.latency = "60 s";
  spec.workload.loads = [0.5];
  spec.cluster = { workers: 2 };
  if (spec.policy.method === "inferline") {
    spec.cluster = { pools: [{ name: "gpu", workers: 2, pricePerHour: 1 }] };
    // Enough requests to judge a plan by.
    spec.policy.sampleDuration = "600 s";
  }
  const variants: Record<string, object> = {};
  for (const task of spec.tasks) {
    for (const variant of task.variants as Variant[]) {
      variants[variant.name] = { accuracy: 0.5, latencyMs: { 1: 1000, 2: 1500 } };
      variant.profile = `${policy}.profile.json#${variant.name}`;
      variant.model = resolve(from, variant.model);
    }
  }
  const profile = { format: "latency-profile/1", hardware: "slow", variants };
  writeFileSync(join(folder, `${policy}.profile.json`), JSON.stringify(profile));
  const app = join(folder, `${policy}.json`);
  writeFileSync(app, JSON.stringify(spec));
  const bundle = join(folder, `${policy}.msgpack`);
  const { status, stderr } = stratagem("compile", app, "-o", bundle);
  expect([status, stderr]).toEqual([0, ""]);
  return bundle;
}

/** Asks both for the same, and compares. @returns the answers of WebGPU. */
async function sameAnswers(bundle: string, models: string, model: string, asked: SentInput[]) {
  const webgpu = await served("webgpu", bundle, models);
  const cpu = await served("cpu", bundle, models);
  const found = [];
  for (const input of asked) {
    const answer = await ask(webgpu.url, model, [input]);
    const expected = await ask(cpu.url, model, [input]);
    expect([answer.status, expected.status]).toEqual([200, 200]);
    expect(answersApart(expected, answer)).toBeLessThan(TOLERANCE);
    found.push(answer);
  }
  return found;
}

withVulkan("a cascade sends on what its gate is not sure of", async () => {
  const bundle = slowBundle("cascade");
  const { pixels } = drawImages(SEED, 6);
  const asked = Array.from({ length: 6 }, (_, at) => {
    const data = [...pixels.subarray(at * IMAGE_BYTES, (at + 1) * IMAGE_BYTES)];
    return { name: "pixels", datatype: "UINT8", shape: [1, IMAGE_BYTES], data };
  });
  const answers = await sameAnswers(bundle, "models/cascade", "cascade", asked);
  const ended = answers.map(({ parameters }) => parameters?.["variant"]);
  expect(new Set(ended)).toEqual(new Set(["cnn-s-gate", "cnn-xl"]));
});

withVulkan("scenes give the letters that are in them", async () => {
  const bundle = slowBundle("scenes");
  const { pixels } = drawScenes(SEED, 1);
  const shape = [1, 1, SCENE_SIDE, SCENE_SIDE];
  const asked = [{ name: "scene", datatype: "UINT8", shape, data: [...pixels] }];
  const [answer] = await sameAnswers(bundle, "models/scenes", "scenes", asked);
  const found = answer?.outputs?.find(({ name }) => name === "identify.logits");
  expect(found?.shape[0]).toBeGreaterThan(1);
});

withVulkan("a malleable pipeline gives places up and takes them, and rows stay right", async () => {
  const policy = { regrow: true };
  const sketch = { places: 3, maxDepth: 3, maxBatch: 256, sloMs: 1e6, policy };
  const bundle = join(folder, "places.msgpack");
  writeFileSync(bundle, bytesOfBundle(await realBundle(folder, sketch)));
  const webgpu = await served("webgpu", bundle, folder);
  const cpu = await served("cpu", bundle, folder);
  const rows = (count: number, first: number): SentInput => {
    const data = Array.from({ length: count * WIDTH }, (_, at) => Math.sin(first + at));
    return { name: "x", datatype: "FP32", shape: [count, WIDTH], data };
  };
  const long = ask(webgpu.url, "one", [rows(250, 1)]);
  await expect.poll(() => webgpu.metric("stratagem_start_places_count")).toBeGreaterThan(0);
  const urgent = ask(webgpu.url, "two", [rows(4, 2)], { timeout: 300_000 });
  const prior = ask(webgpu.url, "two", [rows(4, 2)], { priority: 2 });
  const [found, other, third] = await Promise.all([long, urgent, prior]);
  const expected = await ask(cpu.url, "one", [rows(250, 1)]);
  const expectedOther = await ask(cpu.url, "two", [rows(4, 2)]);
  expect(answersApart(expected, found)).toBeLessThan(TOLERANCE);
  for (const answer of [other, third]) {
    expect(answersApart(expectedOther, answer)).toBeLessThan(TOLERANCE);
  }
  expect(await webgpu.metric("stratagem_scaling_actions_total")).toBeGreaterThan(0);
});
