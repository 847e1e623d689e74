/** Models of several files, as bundles have them, servers open them and workers inherit them. */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { bindChain } from "../../compiler/binding/bind-chain.ts";
import type { ModelFile, RamsisBundle } from "../../runtime/bundle/schema.ts";
import { openedOf } from "../../runtime/exec/models/variant-files.ts";
import { defaultDevice } from "../../runtime/exec/models/worker-device.ts";
import { describeModel } from "../../runtime/exec/onnx/model-file.ts";
import { inheritanceOf } from "../../runtime/exec/process/inherited-models.ts";
import { workerMemoryBytes } from "../../runtime/exec/process/worker-memory.ts";
import { servedModels } from "../../runtime/host/served-models.ts";
import { readRamsisBundle } from "../../runtime/methods/ramsis/bundle/fields.ts";
import { linkPath } from "../support/onnx-links.ts";
import { SMALL, tinyBundle } from "../support/tiny-bundle.ts";

const PATHS = [linkPath("first"), linkPath("second"), linkPath("third")];
const FOLDER = dirname(linkPath("first"));

async function bundleWith(change: (model: ModelFile) => ModelFile): Promise<RamsisBundle> {
  const { model } = await bindChain(PATHS, undefined, [], { describe: describeModel });
  if (model === undefined) throw new Error("expected a chain");
  const bundle = tinyBundle({ variants: [SMALL] });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, model: change(model) })),
  }));
  return { ...bundle, tasks };
}

test("a bundle keeps the files that run in a row", async () => {
  const bundle = await bundleWith((model) => model);
  const read = readRamsisBundle(bundle).tasks[0]?.variants[0]?.model;
  expect(read).toEqual(bundle.tasks[0]?.variants[0]?.model);
});

test.each<[string, (model: ModelFile) => ModelFile, string]>([
  ["none", (model) => ({ ...model, parts: [] }), "parts: expected an array of 1 to 15"],
  [
    "outputs that the last file does not give",
    (model) => ({ ...model, parts: model.parts?.slice(0, 1) ?? [] }),
    'parts[0].outputs: expected y float32[-1,8], as the model\'s, got "mixed float32[-1,8]"',
  ],
  [
    "a module beside them",
    (model) => ({ ...model, module: { specifier: null, options: "{}" } }),
    "parts: expected none beside `module`, got 2",
  ],
  [
    "a tensor twice",
    (model) => ({
      ...model,
      parts:
        model.parts?.map((part) => ({ ...part, inputs: [...part.inputs, ...part.inputs] })) ?? [],
    }),
    'parts[0].inputs[2].name: expected a name of its own, got "scaled"',
  ],
])("a bundle is refused with %s", async (_, change, message) => {
  const bundle = await bundleWith(change);
  expect(() => readRamsisBundle(bundle)).toThrow(message);
});

test("a server opens all of them, and a worker inherits what is open", async () => {
  const [model] = await servedModels(await bundleWith((each) => each), FOLDER);
  if (model === undefined) throw new Error("expected a model");
  expect([model.path, ...(model.parts ?? []).map(({ path }) => path)]).toEqual(PATHS);
  expect(model.axisNames).toEqual(
    Object.fromEntries(
      ["x", "scaled", "floored", "label", "bias", "mixed", "y"].map((name) => [name, "n"]),
    ),
  );
  const opened = openedOf(model);
  expect(opened).toHaveLength(3);
  const setup = { on: defaultDevice("cpu"), threads: 1, trying: false };
  const whole = { ...setup, variants: [model], keptModels: null };
  const inheritance = inheritanceOf(whole, 4);
  expect(inheritance.fds).toEqual(opened.map(({ fd }) => fd));
  const [inherited] = inheritance.setup.variants;
  expect(inherited === undefined ? [] : openedOf(inherited).map(({ fd }) => fd)).toEqual([4, 5, 6]);
});

test("a missing file is named", async () => {
  const bundle = await bundleWith((model) => ({
    ...model,
    parts: model.parts?.map((part) => ({ ...part, file: `gone-${part.file}` })) ?? [],
  }));
  await expect(servedModels(bundle, FOLDER)).rejects.toThrow(
    `${join(FOLDER, "gone-second.onnx")}: expected the model of variant "small", got: no such file`,
  );
});

test("memory is set aside for all of them", () => {
  const gib = 2 ** 30;
  const file = (bytes: number) => ({ path: "a.onnx", opened: { fd: 0, bytes, sha256: "" } });
  const tensors = { inputs: [], outputs: [] };
  const parts = [{ ...file(64 * gib), ...tensors }];
  const variant = { name: "a", ...file(64 * gib), ...tensors, parts, warmBatches: [] };
  const setup = { on: defaultDevice("cpu"), threads: 1, trying: false };
  const bytes = workerMemoryBytes({ ...setup, variants: [variant], keptModels: null });
  expect(bytes).toBe(gib + 2 * 4 * 128 * gib);
  rmSync(FOLDER, { recursive: true });
});
