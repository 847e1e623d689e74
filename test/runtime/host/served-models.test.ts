import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Bundle, ModelFile, RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { describeModel } from "../../../runtime/exec/onnx/model-file.ts";
import { servedModels } from "../../../runtime/host/served-models.ts";
import { methodOf } from "../../../runtime/methods/registry.ts";
import { table1Bundle } from "../../support/accordion-bundle.ts";
import { identityModel } from "../../support/onnx-model.js";
import { tinyBundle } from "../../support/tiny-bundle.ts";
import { DEEP, SMALL, servedPlaces } from "../methods/accordion/serve/fake-places.ts";
import { servedScales } from "../methods/themis/serve/served.ts";
import { servedPipeline, writeModels } from "../server/graph/served-pipeline.ts";
import { servedStages, writeModels as writeStageModels } from "../server/graph/served-tasks.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-served-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "identity.onnx"), identityModel(3));

function batchesByVariant(bundle: Bundle) {
  return methodOf(bundle)
    .models(bundle)
    .map(({ warmBatches }) => warmBatches);
}

async function bundleWith(change: (model: ModelFile) => ModelFile | null): Promise<RamsisBundle> {
  const model = change((await describeModel(join(folder, "identity.onnx"))).model);
  const bundle = tinyBundle({ workers: 1, maxQueue: 2, sloMs: 100 });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({ ...variant, model })),
  }));
  return { ...bundle, tasks };
}

test("finds the model of every variant and the batches its tables ask for", async () => {
  const bundle = await bundleWith((model) => model);
  const models = await servedModels(bundle, folder);
  expect(models.map((model) => model.name)).toEqual(
    bundle.tasks[0]?.variants.map((variant) => variant.name),
  );
  expect(models[0]).toMatchObject({
    path: join(folder, "identity.onnx"),
    inputs: [{ name: "x", dtype: "float32", shape: [-1, 3] }],
  });
  expect(models.map((model) => model.warmBatches)).toEqual(batchesByVariant(bundle));
  expect(models.flatMap((model) => model.warmBatches).length).toBeGreaterThan(0);
});

test("warms a variant that no table runs for one row, since a client may name it", () => {
  const bundle = tinyBundle({
    maxQueue: 2,
    decide: ({ queued }) => ({ variant: 1, batch: queued }),
  });
  expect(batchesByVariant(bundle)).toEqual([[1], [1, 2, 3]]);
});

test.each<[string, (model: ModelFile) => ModelFile | null, RegExp]>([
  ["a bundle without models", () => null, /variant ".*": expected a model, but the bundle/],
  ["a missing file", (model) => ({ ...model, file: "gone.onnx" }), /gone\.onnx: .*no such file/],
  [
    "another file",
    (model) => ({ ...model, sha256: "0".repeat(64) }),
    /SHA-256 0{64}, got [0-9a-f]{64}/,
  ],
])("refuses %s", async (_, change, message) => {
  const refusal = servedModels(await bundleWith(change), folder);
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.toMatchObject({ code: "RUNTIME_MODEL" });
});

test("a pipeline's plans say which batches are warmed, and how outputs are cut", async () => {
  const pipeline = servedPipeline();
  writeModels(folder);
  const models = await servedModels(pipeline, folder);
  expect(models.map(({ name, warmBatches }) => [name, warmBatches])).toEqual([
    ["detect/small", [1, 2]],
    ["detect/large", [1, 2]],
    ["classify/small", [1, 8]],
    ["classify/large", [1, 4]],
  ]);
  expect(models.map(({ outputsAreRows }) => outputsAreRows)).toEqual([false, false, false, false]);
  expect(models.map(({ largestBatch }) => largestBatch)).toEqual([2, 2, 8, 4]);
  expect(models[0]?.axisNames).toMatchObject({ x: "rows", crops: "total", crop_count: "rows" });
});

test("plans and bursts say which cores and batches are warmed", async () => {
  writeStageModels(folder);
  const models = await servedModels(servedScales(), folder);
  expect(models.map(({ name, warmBatches, warmCores }) => [name, warmBatches, warmCores])).toEqual([
    ["gate/gate", [1, 4], [1]],
    ["slow/slow", [1, 2], [1, 2]],
    ["last/last", [1, 4], [1]],
  ]);
  const [stage] = await servedModels(servedStages(), folder);
  expect(stage).not.toHaveProperty("warmCores");
});

test("of models that are cut the stages are found, each for one instance at a time", async () => {
  const model = (await describeModel(join(folder, "identity.onnx"))).model;
  const bundle = servedPlaces({ models: [SMALL] });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({
      ...variant,
      stages: variant.stages.map((stage) => ({ ...stage, model })),
    })),
  }));
  const stages = await servedModels({ ...bundle, tasks }, folder);
  expect(stages.map(({ name }) => name)).toEqual([
    "small stage 0-1",
    "small stage 0-2",
    "small stage 1-2",
  ]);
  for (const { warmBatches, outputsAreRows, path } of stages) {
    expect([warmBatches, outputsAreRows]).toEqual([[1], false]);
    expect(path).toBe(join(folder, "identity.onnx"));
  }
  const missing = servedModels(bundle, folder);
  await expect(missing).rejects.toThrow(
    /small\.0-\d\.onnx: expected the model of variant "small st/,
  );
});

test("a stage that takes indices from a stage before may refuse zeros", async () => {
  const bundle = servedPlaces({ models: [SMALL] });
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({
      ...variant,
      stages: variant.stages.map((stage) => {
        const inputs = stage.model.inputs.map((input) => ({ ...input, dtype: "int64" }));
        return { ...stage, model: { ...stage.model, inputs } };
      }),
    })),
  }));
  const models = methodOf(bundle).models({ ...bundle, tasks });
  expect(models.map(({ warmBatches }) => warmBatches)).toEqual([[1], [1], [1]]);
  // Of layers 0-1 and 0-2 the input is the model's own.
  expect(models.map(({ mayRefuseZeros = false }) => mayRefuseZeros)).toEqual([false, false, true]);
});

test("refuses pipelines that have no stages to run", async () => {
  const bare = servedModels(servedPlaces({ models: [{ ...DEEP, hasModel: false }] }), folder);
  await expect(bare).rejects.toThrow(
    'variant "deep": expected stage models, but the bundle was compiled without models',
  );
  await expect(bare).rejects.toMatchObject({ code: "RUNTIME_MODEL" });
  await expect(servedModels(table1Bundle(), folder)).rejects.toThrow(
    'variant "ResNet50": expected stage models, but the bundle was compiled from speed-ups',
  );
});

describe("what is no ONNX file", () => {
  const MODULE = "export default () => {}";
  const packages = join(folder, "node_modules", "crops");
  mkdirSync(packages, { recursive: true });
  const own = { name: "crops", exports: { "./cut": { default: "./cut.mjs" } } };
  writeFileSync(join(packages, "package.json"), JSON.stringify(own));
  for (const path of [join(packages, "cut.mjs"), join(folder, "cut.mjs")]) {
    writeFileSync(path, MODULE);
  }
  const sha256 = createHash("sha256").update(MODULE).digest("hex");
  const cut = { file: "cut.mjs", sha256 };
  const modelOf = (specifier: string | null) => (model: ModelFile) => {
    return { ...model, ...cut, module: { specifier, options: '{"size":3}' } };
  };

  test.each([
    [null, join(folder, "cut.mjs")],
    ["crops/cut", realpathSync(join(packages, "cut.mjs"))],
  ])("is a module of the folder or of a package: %s", async (specifier, path) => {
    const [model] = await servedModels(await bundleWith(modelOf(specifier)), folder);
    expect(model).toMatchObject({
      path,
      module: { options: '{"size":3}', folder },
      opened: { sha256 },
    });
  });

  test("or a model of another server, which has as long as the SLO", async () => {
    const remote = { url: "http://gpu:8000", model: "a/b" };
    const bundle = await bundleWith((model) => ({ ...model, remote }));
    const [model] = await servedModels(bundle, join(folder, "nowhere"));
    const path = "http://gpu:8000/v2/models/a%2Fb";
    expect(model).toMatchObject({ path, remote: { ...remote, timeoutMs: 100 } });
    expect(model?.opened).toBeUndefined();
  });

  test.each([
    ["nowhere/cut", /cannot resolve "nowhere\/cut" from .*: npm install nowhere;/],
    ["@far/away/cut", /npm install @far\/away;/],
    ["crops/other", /'\.\/other' is not defined by "exports"/],
  ])("is refused where no package has it: %s", async (specifier, message) => {
    const serving = servedModels(await bundleWith(modelOf(specifier)), folder);
    await expect(serving).rejects.toThrow(message);
    await expect(serving).rejects.toMatchObject({ code: "RUNTIME_MODEL" });
  });

  test("is refused where its file is another", async () => {
    const other = (model: ModelFile) => ({
      ...modelOf("crops/cut")(model),
      sha256: "0".repeat(64),
    });
    await expect(servedModels(await bundleWith(other), folder)).rejects.toThrow(
      /cut\.mjs: expected the model the bundle was compiled for, SHA-256 0.*stratagem profile APP/,
    );
  });
});
