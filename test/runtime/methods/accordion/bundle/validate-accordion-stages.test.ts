import { expect, test } from "vitest";
import type { StageModel, TensorInfo } from "../../../../../runtime/bundle/schema.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";

/**
 * Cut as 4; 2, 2 on up to two places. Stages: 0-2, 0-4, 2-4; the last layer takes `h1` of the
 * first.
 */
const sound = accordionBundle({
  models: [{ name: "net", layerMs: [5, 5, 5, 5], hasModel: true }],
  maxDepth: 2,
  maxBatch: 2,
});
const variant = sound.tasks[0]?.variants[0];
const stages = variant?.stages ?? [];
const V = "tasks[0].variants[0]";

const refusedWith = (path: string, value: unknown): string =>
  refusal(changedAt(sound, `${V}.${path}`, value));
const tensor = (name: string, shape: number[], dtype = "float32"): TensorInfo => ({
  name,
  dtype,
  shape,
});

test("the sample is what these tests take it for", () => {
  expect(refusal(sound)).toBe("accepted");
  expect(variant?.pipelines.map((pipeline) => pipeline?.cut)).toEqual([[4], [2, 2]]);
  expect(stages.map(({ from, to }) => [from, to])).toEqual([
    [0, 2],
    [0, 4],
    [2, 4],
  ]);
  expect(stages.map(({ model }) => [model.inputs, model.outputs].map(namesOf))).toEqual([
    [["x"], ["h2", "h1"]],
    [["x"], ["y"]],
    [["h2", "h1"], ["y"]],
  ]);
});

function namesOf(tensors: readonly TensorInfo[]): string[] {
  return tensors.map(({ name }) => name);
}

function other(index: number, change: Partial<StageModel>): unknown {
  return stages.map((stage, at) => (at === index ? { ...stage, ...change } : stage));
}

test.each<[string, unknown, string]>([
  ["no model", null, "stages: expected none without a model, got 3 items"],
  [
    "an input that no client sends",
    { ...variant?.model, inputs: [tensor("z", [-1, 4])] },
    "stages[1].model.inputs[0].name: expected an input of the model, " +
      'or what an earlier stage makes, got "x"',
  ],
  [
    "another type of its input",
    { ...variant?.model, inputs: [tensor("x", [-1, 4], "int64")] },
    'stages[1].model.inputs[0]: expected one instance of int64 [-1,4] "x", ' +
      'as of the model, got float32 [1,4] "x"',
  ],
  [
    "instances of another size",
    { ...variant?.model, inputs: [tensor("x", [-1, 5])] },
    'expected one instance of float32 [-1,5] "x", as of the model, got float32 [1,4] "x"',
  ],
  [
    "instances of more dimensions",
    { ...variant?.model, inputs: [tensor("x", [-1, 1, 4])] },
    'expected one instance of float32 [-1,1,4] "x", as of the model',
  ],
  [
    "no single instances",
    { ...variant?.model, inputs: [tensor("x", [2, 4])] },
    'expected one instance of float32 [2,4] "x", as of the model',
  ],
  [
    "an output that no stage makes",
    { ...variant?.model, outputs: [tensor("y", [-1, 4]), tensor("h3", [-1, 4])] },
    'stages: expected a stage that makes "h3", got none in 0-4',
  ],
  [
    "another type of its output",
    { ...variant?.model, outputs: [tensor("y", [-1, 4], "float16")] },
    'stages: expected one instance of float16 [-1,4] "y", an output of the model, got float32',
  ],
  [
    "a name that two outputs have",
    { ...variant?.model, outputs: [tensor("y", [-1, 4]), tensor("y", [-1, 4])] },
    'model.outputs[1].name: expected a name of its own, got "y" again',
  ],
])("refuses a whole model with %s", (_, model, message) => {
  const found = refusedWith("model", model);
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["none at all", [], "stages: expected the stage 0-4 of a pipeline, got no such range"],
  ["one missing", stages.slice(0, 2), "stages: expected the stage 2-4 of a pipeline, got no such"],
  ["one too many", other(1, { to: 3 }), "stages[1]: expected the range of a stage of some pipelin"],
  ["an empty one", other(1, { from: 4 }), "stages[1]: expected a range of the 4 layers, got 4-4"],
  ["one past the end", other(2, { to: 5 }), "stages[2]: expected a range of the 4 layers, got 2-5"],
  ["one twice", [stages[0], ...stages], "stages[1]: expected a range after 0-2, got 0-2"],
  ["no order", stages.toReversed(), "stages[1]: expected a range after 2-4, got 0-4"],
])("refuses %s of the stages that pipelines have", (_, value, message) => {
  const found = refusedWith("stages", value);
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["0].model.inputs[0].shape", [-1, 4], "inputs[0].shape: expected sizes that are known, of one"],
  ["0].model.outputs[1].shape", [1, -1], "outputs[1].shape: expected sizes that are known, of one"],
  [
    "0].model.inputs[0].shape",
    [2, 4],
    "stages[0].model.inputs[0]: expected one instance of float3",
  ],
  ["0].model.outputs[1].name", "h2", 'outputs[1].name: expected a name of its own, got "h2" again'],
  ["0].model.outputs[1].name", "x", 'outputs[1].name: expected a name of its own, got "x" again'],
  [
    "0].model.outputs[1].name",
    "y",
    "stages[2].model.inputs[1].name: expected an input of the mode",
  ],
  ["2].model.outputs[0].name", "h1", 'outputs[0].name: expected a name of its own, got "h1" again'],
  ["2].model.outputs[0].name", "z", 'stages: expected a stage that makes "y", got none in 0-2,2-4'],
  [
    "2].model.inputs[1].name",
    "h3",
    "stages[2].model.inputs[1].name: expected an input of the model",
  ],
  [
    "2].model.inputs[1].shape",
    [1, 5],
    'expected float32 [1,4] "h1" of a stage before, got float32',
  ],
  [
    "2].model.inputs[1].dtype",
    "int8",
    'expected float32 [1,4] "h1" of a stage before, got int8 [1',
  ],
  [
    "2].model.outputs[0].shape",
    [1, 5],
    'expected one instance of float32 [-1,4] "y", an output of',
  ],
])("refuses stages[%s = %j", (path, value, message) => {
  const found = refusedWith(`stages[${path}`, value);
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test("a size that the whole model leaves open is the stage's to know", () => {
  const open = { ...variant?.model, outputs: [tensor("y", [-1, -1])] };
  expect(refusedWith("model", open)).toBe("accepted");
  const scalar = stages.map((stage) => {
    const bare = (tensors: readonly TensorInfo[]) =>
      tensors.map((one) => (one.name === "h1" ? { ...one, shape: [] } : one));
    const { inputs, outputs } = stage.model;
    return { ...stage, model: { ...stage.model, inputs: bare(inputs), outputs: bare(outputs) } };
  });
  expect(refusedWith("stages", scalar)).toBe("accepted");
});

test("the output of a model may be that of an early stage", () => {
  const early = { ...variant?.model, outputs: [tensor("h2", [-1, 4])] };
  const made = other(1, {
    model: { ...(stages[1]?.model as StageModel["model"]), outputs: [tensor("h2", [1, 4])] },
  });
  const bundle = changedAt(sound, `${V}.model`, early) as object;
  expect(refusal(changedAt(bundle, `${V}.stages`, made))).toBe("accepted");
});
