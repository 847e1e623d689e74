/** Every model of this repository answers on WebGPU as it does on the processor. */
import { expect } from "vitest";
import type { BatchResult, VariantModel } from "../../runtime/exec/models/executor.ts";
import { committedFiles, modelOf, packagedModels } from "../support/committed-models.ts";
import { executorOn } from "../support/device-executor.ts";
import { rowsFor } from "../support/model-rows.ts";
import { largestDifference } from "../support/output-differences.ts";
import { vulkanEnvironment, vulkanMissing } from "../support/vulkan.ts";
import { testWith } from "./needs.ts";

/** Above it, what is thought of a picture would be another. */
const TOLERANCE = 1e-3;

const environment = vulkanEnvironment();
Object.assign(process.env, environment);
const withVulkan = testWith(vulkanMissing(), environment !== null);
const packaged = await packagedModels();

for (const [path = "", ...same] of committedFiles()) {
  const name = [path, ...same].join(" = ");
  withVulkan(`${name} on WebGPU`, async () => {
    const model = await modelOf(path);
    // A stage takes one picture at a time.
    await agree(model, model.inputs.every(({ shape }) => shape[0] === 1) ? [1] : [1, 2]);
  });
}
for (const model of packaged) {
  withVulkan(`${model.name} of a package on WebGPU`, () => agree(model, [1]));
}

async function agree(model: VariantModel, batches: readonly number[]): Promise<void> {
  const onProcessor = await answers("cpu", model, batches);
  const onWebgpu = await answers("webgpu", model, batches);
  for (const [at, outputs] of onProcessor.entries()) {
    const difference = largestDifference(model.outputs, outputs, onWebgpu[at] ?? []);
    expect(difference).not.toBeNull();
    expect(difference).toBeLessThan(TOLERANCE);
  }
}

/** The outputs of every batch, from a worker as it ships. */
async function answers(
  device: "cpu" | "webgpu",
  model: VariantModel,
  batches: readonly number[],
): Promise<BatchResult["outputs"][]> {
  // First runs, which compile kernels, have the time that a start has.
  const executor = await executorOn(device, [{ ...model, warmBatches: batches }]);
  try {
    const found: BatchResult["outputs"][] = [];
    for (const rows of batches) {
      const inputs = rowsFor(model, rows).map((bytes) => [bytes]);
      const { outputs } = await executor.run(0, { variant: 0, rows, inputs });
      found.push(outputs);
    }
    return found;
  } finally {
    await executor.close();
  }
}
