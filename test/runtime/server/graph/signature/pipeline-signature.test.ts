import { describe, expect, test } from "vitest";
import type {
  Feed,
  LokiBundle,
  ModelFile,
  PipelineTask,
  TensorInfo,
} from "../../../../../runtime/bundle/schema.ts";
import type { AxisNames } from "../../../../../runtime/server/graph/signature/output-groups.ts";
import { pipelineSignatureOf } from "../../../../../runtime/server/graph/signature/pipeline-signature.ts";
import { lokiBundle } from "../../../../support/loki-bundle.ts";
import { AXIS_NAMES, servedPipeline } from "../served-pipeline.ts";

function tensor(name: string, shape: readonly number[], dtype = "float32"): TensorInfo {
  return { name, dtype, shape };
}

type Change = (model: ModelFile, variant: number) => ModelFile | null;

/** The chain with other models or another feed for one task. */
function changed(task: number, change: Change, feed?: Feed | null): LokiBundle {
  const bundle = servedPipeline();
  const tasks = bundle.tasks.map((one, index): PipelineTask => {
    if (index !== task) return one;
    return {
      ...one,
      feed: feed === undefined ? one.feed : feed,
      variants: one.variants.map((variant, v) => ({
        ...variant,
        model: variant.model === null ? null : change(variant.model, v),
      })),
    };
  });
  return { ...bundle, tasks };
}

const same: Change = (model) => model;
const CROPS = { input: "crop", output: "crops" };

test("a client sees the application, the inputs of the entry, and the outputs of all tasks", () => {
  const { names, inputs, outputs, variants } = pipelineSignatureOf(servedPipeline(), AXIS_NAMES);
  expect(names).toEqual(["pipeline"]);
  expect(inputs.map(({ name }) => name)).toEqual(["x"]);
  expect(outputs.map(({ name, isInternal }) => [name, isInternal])).toEqual([
    ["detect.crops", true],
    ["detect.crop_count", false],
    ["detect.boxes", false],
    ["detect.value", false],
    ["classify.logits", false],
  ]);
  // Crops, their number, boxes, a value each.
  expect(variants.map(({ countByOutput }) => countByOutput)).toEqual([
    [1, null, 1, null],
    [1, null, 1, null],
    [null],
    [null],
  ]);
});

test("outputs are rows of the request only where no row multiplies, branches or ends", () => {
  const areRows = (bundle: LokiBundle) => pipelineSignatureOf(bundle, AXIS_NAMES).outputsAreRows;
  const bundle = servedPipeline();
  expect(areRows(bundle)).toBe(false);
  const uncounted = changed(1, same, { inputs: [CROPS], count: null });
  expect(areRows(uncounted)).toBe(true);
  const tasks = uncounted.tasks.map((task, index) => {
    return index === 0 ? { ...task, entryShare: 0.5 } : task;
  });
  expect(areRows({ ...uncounted, tasks })).toBe(false);
});

test("a pipeline of one task keeps the names of its tensors and of its task", () => {
  const bundle = servedPipeline();
  const [detect] = bundle.tasks;
  if (detect === undefined) throw new Error("there is a task");
  const { names, outputs } = pipelineSignatureOf({ ...bundle, tasks: [detect] });
  expect(names).toEqual(["pipeline", "detect"]);
  expect(outputs.map(({ name }) => name)).toEqual(["crops", "crop_count", "boxes", "value"]);
});

/** The chain whose tasks have inputs of the listed sizes. */
function sized(detect: readonly number[], classify: readonly number[]): LokiBundle {
  const open = (sizes: readonly number[]) => (model: ModelFile) => ({
    ...model,
    inputs: model.inputs.map((input) => ({ ...input, shape: [-1, -1] })),
    buckets: [{ inputs: [{ input: 0, axis: 1 }], sizes, padding: 7 }],
  });
  const [first] = changed(0, open(detect)).tasks;
  const [, second] = changed(1, open(classify)).tasks;
  return { ...servedPipeline(), tasks: [first as PipelineTask, second as PipelineTask] };
}

test("requests have the sizes of entries alone, and each task those of its own", () => {
  const { axes, inputs, tasks } = pipelineSignatureOf(sized([2, 5], [3, 4, 9]), AXIS_NAMES);
  expect(axes).toEqual([{ inputs: [{ input: 0, axis: 1 }], sizes: [2, 5], padding: 7 }]);
  expect(inputs).toMatchObject([{ rowShape: [-1], largest: [5] }]);
  expect(tasks.map(({ axes: own }) => own.map(({ sizes }) => sizes))).toEqual([
    [[2, 5]],
    [[3, 4, 9]],
  ]);
  expect(tasks.map(({ largestBucket }) => largestBucket)).toEqual([1, 2]);
  expect(pipelineSignatureOf(servedPipeline(), AXIS_NAMES).axes).toBeUndefined();
});

test("entries that share an input agree on its sizes, or are refused", () => {
  const both = (classify: readonly number[]) => {
    const bundle = sized([2, 5], classify);
    const named = (task: PipelineTask): PipelineTask => ({
      ...task,
      parent: null,
      feed: null,
      variants: task.variants.map((variant) => ({
        ...variant,
        model: variant.model && {
          ...variant.model,
          inputs: variant.model.inputs.map((input) => ({ ...input, name: "x" })),
        },
      })),
    });
    return pipelineSignatureOf({ ...bundle, tasks: bundle.tasks.map(named) }, AXIS_NAMES);
  };
  expect(both([2, 5]).axes).toEqual([
    { inputs: [{ input: 0, axis: 1 }], sizes: [2, 5], padding: 7 },
  ]);
  expect(() => both([2, 6])).toThrow(
    'task "classify" sizes of an axis: expected 2, 5 filled with 7, as an entry task before has ' +
      "them, got 2, 6 filled with 7",
  );
});

test.each<[string, LokiBundle, RegExp]>([
  [
    "a variant without a model",
    changed(1, (model, variant) => (variant === 1 ? null : model)),
    /variant "classify\/large": expected one, named in the application spec, got no model/,
  ],
  [
    "an input that nothing is sent to",
    changed(1, same, null),
    /task "classify" input "crop": expected an output of task "detect", got nothing/,
  ],
  [
    "a feed of an input that there is not",
    changed(1, same, { inputs: [CROPS, { input: "mask", output: "boxes" }], count: "crop_count" }),
    /task "classify" feed "mask": expected an input of its variants, .*, got "crop"/,
  ],
  [
    "an output that a variant of the parent lacks",
    changed(0, (model, variant) => ({
      ...model,
      outputs: model.outputs.filter(({ name }) => variant !== 1 || name !== "crops"),
    })),
    /"detect\/large" outputs: expected "crops", .* "classify" is fed, got "crop_count"/,
  ],
  [
    "a count that a variant of the parent lacks",
    changed(1, same, { inputs: [CROPS], count: "crops_found" }),
    /variant "detect\/small" outputs: expected "crops_found"/,
  ],
  [
    "another element type",
    changed(1, (model) => ({ ...model, inputs: [tensor("crop", [-1, 2], "uint8")] })),
    /task "classify" input "crop" .*: expected .*, "crops" UINT8 \[rows, 2\], got .* FP32/,
  ],
  [
    "another shape of a row",
    changed(1, (model) => ({ ...model, inputs: [tensor("crop", [-1, 3])] })),
    /expected what it can take, "crops" FP32 \[rows, 3\], got "crops" FP32 \[rows, 2\]/,
  ],
  [
    "a count that is no INT64",
    changed(1, same, { inputs: [CROPS], count: "value" }),
    /task "classify" count from "detect": expected INT64 \[rows\], got "value" FP32/,
  ],
  [
    "variants with different outputs",
    changed(1, (model, variant) => ({
      ...model,
      outputs: [tensor(variant === 1 ? "scores" : "logits", [-1, 2])],
    })),
    /variant "classify\/large" outputs/,
  ],
])("refuses %s", (_, bundle, message) => {
  const refused = () => pipelineSignatureOf(bundle, AXIS_NAMES);
  expect(refused).toThrow(message);
  expect(refused).toThrow(expect.objectContaining({ code: "RUNTIME_MODEL" }));
});

test("an open dimension is left to the batches", () => {
  const open: Change = (model) => ({
    ...model,
    outputs: model.outputs.map((output) =>
      output.name === "crops" ? tensor("crops", [-1, -1]) : output,
    ),
  });
  expect(pipelineSignatureOf(changed(0, open), AXIS_NAMES).tasks).toHaveLength(2);
});

describe("outputs that are not sent on", () => {
  const groups = (axes: AxisNames) =>
    pipelineSignatureOf(servedPipeline(), [axes, axes, {}, {}]).variants[0]?.countByOutput;

  test("go by the name of their first dimension", () => {
    const own = { x: "rows", crops: "total", boxes: "total", value: "rows" };
    expect(groups(own)).toEqual([1, null, 1, null]);
    // A name that is neither's: the tracer that made the model gave every tensor its own.
    expect(groups({ ...own, boxes: "boxes_axis_0" })).toEqual([1, null, 1, null]);
  });

  test("are refused without one where there is a count", () => {
    expect(() => groups({ x: "rows", crops: "total", value: "rows" })).toThrow(
      /"detect\/small" output "boxes": expected a first dimension with .*, got no name/,
    );
  });

  test("go as the only count where a module, which names no dimension, gives them", () => {
    const code: Change = (model) => ({ ...model, module: { specifier: null, options: "{}" } });
    const [variant] = pipelineSignatureOf(changed(0, code), [{}, {}, {}, {}]).variants;
    expect(variant?.countByOutput).toEqual([1, null, 1, 1]);
  });
});

describe("entries", () => {
  const sketch = {
    tasks: [
      { name: "cars", variants: [{ name: "a", accuracy: 1, latencyMs: { 1: 1 } }] },
      { name: "faces", variants: [{ name: "b", accuracy: 1, latencyMs: { 1: 1 } }] },
    ],
    levels: [],
  };
  const withInputs = (inputs: readonly (readonly TensorInfo[])[]): LokiBundle => {
    const bundle = lokiBundle(sketch);
    return {
      ...bundle,
      tasks: bundle.tasks.map((task, index) => ({
        ...task,
        variants: task.variants.map((variant) => ({
          ...variant,
          model: {
            file: "m.onnx",
            sha256: "",
            inputs: inputs[index] ?? [],
            outputs: [tensor("y", [-1])],
          },
        })),
      })),
    };
  };

  test("share an input of the same name", () => {
    const image = tensor("image", [-1, 4]);
    const bundle = withInputs([[image], [tensor("mask", [-1]), image]]);
    const { inputs, tasks } = pipelineSignatureOf(bundle);
    expect(inputs.map(({ name }) => name)).toEqual(["image", "mask"]);
    expect(tasks.map(({ requestInputs }) => requestInputs)).toEqual([[0], [1, 0]]);
  });

  test("are refused if they do not agree on it", () => {
    const bundle = withInputs([[tensor("image", [-1, 4])], [tensor("image", [-1, 8])]]);
    expect(() => pipelineSignatureOf(bundle)).toThrow(
      /task "faces" input: expected "image" FP32 \[rows, 4\], .*, got .* FP32 \[rows, 8\]/,
    );
  });
});
