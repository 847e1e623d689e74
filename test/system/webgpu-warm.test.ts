/** What workers on a GPU have done before they are ready: told by counts, not by clocks. */
import { resolve } from "node:path";
import { describe, expect } from "vitest";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import type { ModelFacts } from "../../runtime/exec/models/model-facts.ts";
import type { WorkerDevice } from "../../runtime/exec/models/worker-device.ts";
import { describeModel } from "../../runtime/exec/onnx/model-file.ts";
import { startedExecutor } from "../runtime/exec/built-executor.ts";
import { loggedWorker } from "../support/logged-worker.ts";
import { GraphBuilder, modelOf, tensorOf } from "../support/onnx-graphs.ts";
import { modelFile } from "../support/onnx-stages.ts";
import { vulkanEnvironment, vulkanMissing } from "../support/vulkan.ts";
import { testWith } from "./needs.ts";

const environment = vulkanEnvironment();
const withVulkan = testWith(vulkanMissing(), environment !== null);
const WEBGPU: WorkerDevice = {
  provider: "webgpu",
  id: null,
  environment: environment ?? {},
  options: {},
};
const BOOL = 9;

async function variantOf(file: string, batches: Partial<VariantModel>): Promise<VariantModel> {
  const path = resolve(file);
  const { inputs, outputs } = (await describeModel(path)).model;
  return { name: file, path, inputs, outputs, outputsAreRows: false, warmBatches: [], ...batches };
}

describe("a worker on a GPU that is ready", () => {
  withVulkan("compiles nothing for the first batch of any size that comes", async () => {
    const batches = { warmBatches: [1], largestBatch: 6 };
    const variant = await variantOf("models/image-classification/cnn-xs.onnx", batches);
    const worker = await loggedWorker(variant, WEBGPU);
    const compiled = [];
    for (let rows = 1; rows <= 6; rows++) compiled.push(await worker.run(rows));
    await worker.close();
    expect(worker.compiledBefore).toBeGreaterThan(0);
    expect(compiled).toEqual([0, 0, 0, 0, 0, 0]);
  });

  withVulkan("compiles nothing for what only values bring about", async () => {
    // Of zeros a detector finds nothing, and runs nothing of what follows.
    const variant = await variantOf("models/scenes/detector-s.onnx", { warmBatches: [1] });
    const worker = await loggedWorker(variant, WEBGPU);
    expect([await worker.run(1), await worker.run(1)]).toEqual([0, 0]);
    await worker.close();
  });

  withVulkan("would compile for a size that it has not run", async () => {
    const batches = { warmBatches: [1] };
    const variant = await variantOf("models/image-classification/cnn-xs.onnx", batches);
    const worker = await loggedWorker(variant, WEBGPU);
    expect(await worker.run(2)).toBeGreaterThan(0);
    await worker.close();
  });

  withVulkan("has run its batches also where it replaces another", async () => {
    const batches = { warmBatches: [1, 2] };
    const variant = await variantOf("models/image-classification/mlp-s.onnx", batches);
    const told: ModelFacts[] = [];
    const onModelFacts = (facts: ModelFacts) => void told.push(facts);
    const options = { variants: [variant], devices: [WEBGPU] };
    const limits = { healthyAfterMs: 0 };
    const executor = await startedExecutor(options, limits, { onModelFacts });
    expect([await executor.nextEvent(), told.length]).toEqual(["ready 0", 1]);
    process.kill(executor.pidOf(0), "SIGKILL");
    expect(await executor.nextEvent()).toMatch(/^lost 0/);
    expect([await executor.nextEvent(), told.length]).toEqual(["ready 0", 2]);
    await executor.close();
    for (const facts of told) {
      expect(facts).toMatchObject({ variant: 0, cpuNodes: [], hasFallback: false });
      expect(facts.warmMs).toBeGreaterThan(0);
    }
  });
});

describe("nodes that a GPU leaves to the processor", () => {
  withVulkan("are listed, or refused by name", async () => {
    const variant = await variantOf("models/scenes/detector-s.onnx", { warmBatches: [1] });
    const seen: ModelFacts[] = [];
    const onModelFacts = (facts: ModelFacts) => void seen.push(facts);
    const options = { variants: [variant], devices: [WEBGPU] };
    await (await startedExecutor(options, undefined, { onModelFacts })).close();
    const [facts] = seen;
    expect(facts?.nodes).toBeGreaterThan(facts?.cpuNodes.length ?? Number.NaN);
    expect(facts?.cpuNodes).toContainEqual({ name: "/NonZero", op: "NonZero" });
    const refused = startedExecutor({ ...options, cpuFallback: "refuse" });
    await expect(refused).rejects.toThrow(
      /detector-s.* on webgpu: expected every node on the GPU .*; 38 of 88 would run on the CPU: /,
    );
  });

  withVulkan("are found in a branch, where onnxruntime's own check does not look", async () => {
    const g = new GraphBuilder();
    const [then, other] = [new GraphBuilder(), new GraphBuilder()];
    then.node("Sigmoid", ["x"], {}, { output: ["a"] });
    const found = other.node("NonZero", ["x"], {}, { name: "found" });
    other.node("Cast", [found], { to: 1 }, { output: ["b"] });
    const branch = (one: GraphBuilder, name: string) => one.graph([], [tensorOf(name, ["p", "q"])]);
    const branches = { then_branch: branch(then, "a"), else_branch: branch(other, "b") };
    g.node("If", ["c"], branches, { output: ["y"] });
    const inputs = [tensorOf("x", ["batch", 4]), tensorOf("c", [1], BOOL)];
    const variant: VariantModel = {
      name: "branches",
      path: modelFile(modelOf(g.graph(inputs, [tensorOf("y", ["p", "q"])]))),
      inputs: [
        { name: "x", dtype: "float32", shape: [-1, 4] },
        { name: "c", dtype: "bool", shape: [1] },
      ],
      outputs: [{ name: "y", dtype: "float32", shape: [-1, -1] }],
      outputsAreRows: false,
      warmBatches: [1],
    };
    const { facts, close } = await loggedWorker(variant, WEBGPU);
    await close();
    expect(facts.cpuNodes).toContainEqual({ name: "found", op: "NonZero" });
  });
});
