/** Scenes on processors and a GPU at once: times are made, so that each task has its own pool. */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";

import type { DeviceDescription } from "../../runtime/bundle/schema.ts";

import { stratagem } from "./run-cli.ts";

export const SCENE_MODELS = resolve("models", "scenes");

/** What the times are said to be measured on. */
export interface MeasuredScenes {
  readonly cpu: DeviceDescription;
  readonly webgpu: DeviceDescription;
}

/**
 * Milliseconds by batch size: processors find letters, the GPU names them, both so quickly that no
 * client is beyond their capacity.
 */
const LATENCY_MS = {
  cpu: { "detector-s": { 1: 0.5, 2: 0.6 }, "mlp-s": { 1: 400, 2: 800 } },
  webgpu: { "detector-s": { 1: 4000, 2: 8000 }, "mlp-s": { 1: 0.5, 2: 0.6 } },
};
const START = { processMs: 500, loadMs: 200, warmMs: 3000 };

type Variant = keyof (typeof LATENCY_MS)["cpu"];

export interface PooledScenes {
  readonly method: "inferline" | "loki";
  readonly on: MeasuredScenes;
  readonly sloMs?: number;
}

/** Compiles a bundle of a pool of one processor and one of a GPU. @returns its path. */
export function pooledScenes(folder: string, { method, on, sloMs = 30_000 }: PooledScenes): string {
  writeProfiles(folder, on);
  const isPaid = method === "inferline";
  const detected = { task: "identify", inputs: { crop: "crops" }, count: "crop_count" };
  return compiled(folder, `${method}-${sloMs}`, {
    slo: { latency: `${sloMs} ms`, percentile: 95 },
    workload: { arrivals: { process: "poisson" }, loads: [1, 40] },
    cluster: {
      pools: [
        { name: "processors", workers: 1, ...(isPaid ? { pricePerHour: 0.1 } : {}) },
        { name: "gpu", device: "webgpu", ...(isPaid ? { pricePerHour: 0.05 } : {}) },
      ],
    },
    tasks: [
      {
        name: "detect",
        variants: [{ ...variant("detector-s", ["cpu", "webgpu"]), fanout: 3.828 }],
        to: [{ ...detected, ...(isPaid ? { share: 1 } : {}) }],
      },
      { name: "identify", variants: [variant("mlp-s", ["cpu", "webgpu"])] },
    ],
    policy: isPaid ? { method, sampleDuration: "240 s" } : { method },
  });
}

/** Compiles tables of RAMSIS for what names letters, in one pool on a GPU. @returns their path. */
export function pooledCrops(folder: string, on: MeasuredScenes): string {
  writeProfiles(folder, on);
  return compiled(folder, "ramsis", {
    slo: { latency: "30 s" },
    workload: { arrivals: { process: "poisson" }, loads: [1, 2] },
    cluster: { pools: [{ name: "gpu", device: "webgpu" }] },
    tasks: [{ name: "identify", variants: [variant("mlp-s", ["cpu", "webgpu"])] }],
    policy: { method: "ramsis", maxQueue: 4 },
  });
}

function variant(name: Variant, providers: readonly (keyof MeasuredScenes)[]) {
  const profile = providers.map((provider) => `${provider}.json#${name}`);
  return { name, accuracy: 0.8, profile, model: join(SCENE_MODELS, `${name}.onnx`) };
}

function writeProfiles(folder: string, on: MeasuredScenes): void {
  for (const provider of ["cpu", "webgpu"] as const) {
    const times = Object.entries(LATENCY_MS[provider]);
    const variants = times.map(([name, latencyMs]) => {
      return [name, { accuracy: 0.8, latencyMs, start: START }];
    });
    const profile = {
      format: "latency-profile/1",
      hardware: on[provider].name,
      device: { provider, ...on[provider] },
      variants: Object.fromEntries(variants),
    };
    writeFileSync(join(folder, `${provider}.json`), JSON.stringify(profile));
  }
}

function compiled(folder: string, name: string, spec: object): string {
  const app = join(folder, `${name}.json`);
  writeFileSync(app, JSON.stringify({ version: 1, application: "scenes", ...spec }));
  const bundle = join(folder, `${name}.msgpack`);
  const { status, stderr } = stratagem("compile", app, "-o", bundle);
  expect([status, stderr]).toEqual([0, ""]);
  return bundle;
}
