/** Several ONNX files in one worker give what the model gives that they are cut from. */
import { expect, test } from "vitest";
import { bindChain } from "../../../../compiler/binding/bind-chain.ts";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import { defaultDevice } from "../../../../runtime/exec/models/worker-device.ts";
import { describeModel } from "../../../../runtime/exec/onnx/model-file.ts";
import { loadModel } from "../../../../runtime/exec/process/model-store.ts";
import { linkPath, variantOf } from "../../../support/onnx-links.ts";

const PATHS = [linkPath("first"), linkPath("second"), linkPath("third")];

async function chain(): Promise<VariantModel> {
  const { model } = await bindChain(PATHS, undefined, [], { describe: describeModel });
  if (model === undefined) throw new Error("expected a chain");
  return variantOf(model, PATHS);
}

function load(variant: VariantModel, onStep: (step: string) => void = () => {}) {
  const setup = { on: defaultDevice("cpu"), threads: 1, trying: false };
  return loadModel(variant, 1, { ...setup, variants: [variant], keptModels: null }, onStep);
}

const bytesOf = (values: readonly number[]) => new Uint8Array(Float32Array.from(values).buffer);
const numbers = (count: number, scale: number) =>
  Array.from({ length: count }, (_, index) => scale * (index % 13) - 2);

test("the files in a row give the same bytes as the whole, batch after batch", async () => {
  const steps: string[] = [];
  const links = await load(await chain(), (step) => steps.push(step));
  const whole = await load(
    variantOf((await describeModel(linkPath("whole"))).model, [linkPath("whole")]),
  );
  for (const rows of [1, 3, 2]) {
    const inputs = [bytesOf(numbers(8 * rows, 0.37)), bytesOf(numbers(8 * rows, 0.11))];
    const [found, expected] = [await links.run(rows, inputs), await whole.run(rows, inputs)];
    expect(found.outputs).toEqual(expected.outputs);
    expect(found.outputs[0]?.shape).toEqual([rows, 8]);
  }
  expect(steps).toEqual([
    "loading file 1 of 3 for 1 core",
    "loading file 2 of 3 for 1 core",
    "loading file 3 of 3 for 1 core",
    "its first runs with 1 row",
    "its first runs with 3 rows",
  ]);
  await expect(links.run(2, [bytesOf([1]), bytesOf([1])])).rejects.toThrow(
    'input "x": 2 rows of float32 [-1, 8] take 64 bytes, got 4',
  );
  await links.release();
  await whole.release();
});

test("a file that is another than promised is named", async () => {
  const variant = await chain();
  const [second, third] = variant.parts ?? [];
  if (second === undefined || third === undefined) throw new Error("expected three files");
  const swapped = { ...variant, parts: [{ ...second, path: third.path }, third] };
  await expect(load(swapped)).rejects.toThrow(
    `links (${third.path}) on cpu: expected the inputs scaled float32, bias float32; has `,
  );
  const headless = { ...variant, path: second.path };
  await expect(load(headless)).rejects.toThrow(
    `links (${second.path}) on cpu: expected the inputs`,
  );
});
