/**
 * Several ONNX files in one worker on WebGPU: what stays on the device between them is what the
 * CPU would have handed on. Options of the provider are tried on the device, too.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { bindChain } from "../../compiler/binding/bind-chain.ts";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import type { LoadedModel } from "../../runtime/exec/models/loaded-model.ts";
import {
  defaultDevice,
  devicesOn,
  type ProviderOptions,
} from "../../runtime/exec/models/worker-device.ts";
import { describeModel } from "../../runtime/exec/onnx/model-file.ts";
import { checkProviderOptions } from "../../runtime/exec/onnx/provider-options.ts";
import { sessionOptions } from "../../runtime/exec/onnx/session-options.ts";
import { loadModel } from "../../runtime/exec/process/model-store.ts";
import { InferenceSession } from "../../runtime/exec/tensors/onnxruntime.ts";
import { startedExecutor } from "../runtime/exec/built-executor.ts";
import { linkPath, variantOf } from "../support/onnx-links.ts";
import { identityModel } from "../support/onnx-model.ts";
import { vulkanEnvironment } from "../support/vulkan.ts";
import { testWith } from "./needs.ts";

const environment = vulkanEnvironment();
Object.assign(process.env, environment);
const onVulkan = testWith("a Vulkan driver", environment !== null);

const loaded: LoadedModel[] = [];
afterAll(async () => {
  for (const model of loaded) await model.release();
});

type Device = "cpu" | "webgpu";

async function load(
  paths: readonly string[],
  device: Device,
): Promise<[LoadedModel, VariantModel]> {
  const variant = await variantAt(paths);
  const setup = { on: defaultDevice(device), threads: 1, trying: false, keptModels: null };
  const model = await loadModel(variant, 1, { ...setup, variants: [variant] }, () => {});
  loaded.push(model);
  return [model, variant];
}

async function variantAt(paths: readonly string[]): Promise<VariantModel> {
  const [path = ""] = paths;
  if (paths.length === 1) return variantOf((await describeModel(path)).model, paths);
  const { model } = await bindChain(paths, undefined, [], { describe: describeModel });
  if (model === undefined) throw new Error("expected a chain");
  return variantOf(model, paths);
}

/** Rows of numbers between 0 and 255, or 0 and 1. */
function inputsOf({ inputs }: VariantModel, rows: number): Uint8Array<ArrayBuffer>[] {
  return inputs.map(({ dtype, shape }) => {
    const count = rows * shape.slice(1).reduce((product, size) => product * size, 1);
    const values = Array.from({ length: count }, (_, at) => (at * 7919) % 251);
    if (dtype === "uint8") return Uint8Array.from(values);
    return new Uint8Array(Float32Array.from(values, (value) => value / 251).buffer);
  });
}

/** The largest difference of two answers, as the numbers that they are. */
async function difference(
  [one, variant]: [LoadedModel, VariantModel],
  [other]: [LoadedModel, VariantModel],
  rows: number,
): Promise<number> {
  const inputs = inputsOf(variant, rows);
  const [found, expected] = [await one.run(rows, inputs), await other.run(rows, inputs)];
  expect(found.outputs.map(({ shape }) => shape)).toEqual(
    expected.outputs.map(({ shape }) => shape),
  );
  const differences = variant.outputs.flatMap(({ dtype }, index) => {
    const [a, b] = [found.outputs[index]?.bytes, expected.outputs[index]?.bytes];
    if (a === undefined || b === undefined) return [Number.NaN];
    if (dtype !== "float32") return [Buffer.compare(a, b) === 0 ? 0 : 1];
    const [x, y] = [new Float32Array(a.slice().buffer), new Float32Array(b.slice().buffer)];
    return x
      .map((value, at) => Math.abs(value - (y[at] ?? Number.NaN)))
      .reduce((most, each) => Math.max(most, each), 0);
  });
  return Math.max(...differences.map(Number));
}

const LINKS = (["first", "second", "third"] as const).map(linkPath);

onVulkan("three files hand on numbers that stay, and others, in batches of any size", async () => {
  const chain = await load(LINKS, "webgpu");
  const whole = await load([linkPath("whole")], "cpu");
  // Of all files: Mul, Floor and Cast, then Add, then Cast and Sub.
  expect(chain[0].facts.nodes).toBeGreaterThanOrEqual(6);
  for (const rows of [1, 3, 2, 64, 1]) {
    expect(await difference(chain, whole, rows)).toBeLessThan(1e-3);
  }
});

const STAGES = "policies/malleable";
const stage = (start: string) => {
  const file = readdirSync(STAGES).find(
    (name) => name.startsWith(`${start}.`) && name.endsWith("onnx"),
  );
  if (file === undefined) throw new Error(`expected a stage ${start}`);
  return join(STAGES, file);
};

for (const [first, second, all] of [
  ["cnn-xl.0-12", "cnn-xl.12-22", "cnn-xl.0-22"],
  ["detector-l.0-12", "detector-l.12-27", "detector-l.0-27"],
] as const) {
  const paths = [stage(first), stage(second)];

  test(`${first} and the rest are the whole on the CPU, bit by bit`, async () => {
    expect(await difference(await load(paths, "cpu"), await load([stage(all)], "cpu"), 1)).toBe(0);
  });

  onVulkan(`${first} and the rest are the whole on a device`, async () => {
    const [chain, whole] = [await load(paths, "webgpu"), await load([stage(all)], "cpu")];
    for (let run = 0; run < 3; run++) {
      expect(await difference(chain, whole, 1)).toBeLessThan(1e-3);
    }
  });
}

onVulkan("a worker process runs the files in a row, from what it has inherited", async () => {
  const variant = await variantAt(LINKS);
  const executor = await startedExecutor({ variants: [variant], devices: devicesOn("webgpu", 1) });
  try {
    expect(await executor.nextEvent()).toBe("ready 0");
    const inputs = inputsOf(variant, 3);
    const { outputs } = await executor.run(0, {
      variant: 0,
      rows: 3,
      inputs: inputs.map((bytes) => [bytes]),
    });
    const [whole] = await load([linkPath("whole")], "cpu");
    const [expected] = (await whole.run(3, inputs)).outputs;
    expect(outputs[0]?.shape).toEqual([3, 8]);
    expect(Buffer.from(outputs[0]?.bytes ?? [])).toEqual(Buffer.from(expected?.bytes ?? []));
  } finally {
    await executor.close();
  }
});

const MODES = ["disabled", "lazyRelease", "simple", "bucket"];
const VALUES: Readonly<Record<string, readonly ProviderOptions[string][]>> = {
  preferredLayout: ["NCHW", "NHWC", "nchw"],
  validationMode: ["disabled", "wgpuOnly", "basic", "full", "none"],
  storageBufferCacheMode: [...MODES, "dynamicBucket"],
  uniformBufferCacheMode: [...MODES, "none"],
  queryResolveBufferCacheMode: [...MODES, "none"],
  defaultBufferCacheMode: [...MODES, "none"],
  enableRobustness: [true, false, "yes"],
  forceCpuNodeNames: [["/a"], ["/a", "/b"], [], "/a"],
  deviceId: ["0"],
  powerPreference: ["low-power"],
  enableGraphCapture: [true],
};

onVulkan("what we take of the provider's options is what it takes", async () => {
  const model = identityModel(2);
  for (const [name, values] of Object.entries(VALUES)) {
    for (const value of values) {
      const on = defaultDevice("webgpu");
      const { executionProviders: _, ...others } = sessionOptions({ on }, 1, model);
      const executionProviders = [{ name: "webgpu", [name]: value }];
      const created = InferenceSession.create(model, { ...others, executionProviders });
      const isTaken = await created.then(
        (session) => session.release().then(() => true),
        () => false,
      );
      const told = `${name}=${JSON.stringify(value)}`;
      const ours = checkProviderOptions("webgpu", { [name]: value }) === null;
      expect([told, ours]).toEqual([told, isTaken]);
    }
  }
});
