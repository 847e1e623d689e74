/** Models as specs use them: what is outside, what the worker is told, and what is refused. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bindModel } from "../../../compiler/binding/bind-model.ts";
import type { Binding } from "../../../compiler/spec/binding.ts";
import { onnxModel } from "../../../lab/models/onnx-graph.ts";
import { describeModel } from "../../../runtime/exec/onnx/model-file.ts";
import { probeModelFile } from "../../../runtime/exec/tensors/probe-tensors.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-binding-"));
const NOTHING: Binding = {
  axes: {},
  padding: 0,
  inputs: {},
  outputs: null,
  constants: {},
  resize: {},
};

/** An image of any size to the sum of its rows of pixels; a memory whose rows are its axis 1. */
const PATH = fileOf("sums.onnx", {
  nodes: [
    { op: "ReduceSum", inputs: ["image", "last"], output: "sums", attributes: { keepdims: 0 } },
    { op: "Cast", inputs: ["rate"], output: "hz", attributes: { to: 1 } },
    { op: "Add", inputs: ["memory", "hz"], output: "memoryN" },
  ],
  constants: [{ name: "last", type: "int64", shape: [1], values: [3] }],
  inputs: [
    { name: "image", type: "float32", shape: ["n", 1, "height", "width"] },
    { name: "memory", type: "float32", shape: [2, "n", 3] },
    { name: "rate", type: "int64", shape: [] },
  ],
  outputs: [
    { name: "sums", type: "float32", shape: ["n", 1, "height"] },
    { name: "memoryN", type: "float32", shape: [2, "n", 3] },
  ],
});

test("states sizes, constants, names and axes of rows that are not the first", async () => {
  const bound = await boundTo(PATH, {
    ...NOTHING,
    axes: { height: 4, width: [8, 16], "memory.1": "batch" },
    inputs: { image: "picture" },
    constants: { rate: 16_000 },
    resize: { picture: { size: [6, 16], fit: "fill", padding: 0 } },
  });
  expect(bound.mistakes).toBeUndefined();
  expect(bound.model).toMatchObject({
    inputs: [
      { name: "picture", shape: [-1, 1, 6, 16] },
      { name: "memory", shape: [-1, 2, 3] },
    ],
    outputs: [
      { name: "sums", dtype: "float32", shape: [-1, 1, 4] },
      { name: "memoryN", shape: [-1, 2, 3] },
    ],
    adapter: {
      maxRows: null,
      inputs: [
        { name: "image", shape: [-1, 1, 4, -1], batchAxis: 0, from: 0 },
        { name: "memory", shape: [2, -1, 3], batchAxis: 1, from: 1 },
        { name: "rate", shape: [], batchAxis: null, from: null, constant: 16_000 },
      ],
      outputs: [
        { name: "sums", batchAxis: 0 },
        { name: "memoryN", batchAxis: 1 },
      ],
    },
  });
});

test("resizes images with channels last", async () => {
  const path = fileOf("channels-last.onnx", {
    nodes: [{ op: "Identity", inputs: ["image"], output: "same", attributes: {} }],
    constants: [],
    inputs: [{ name: "image", type: "float32", shape: ["n", 5, 6, 3] }],
    outputs: [{ name: "same", type: "float32", shape: ["n", 5, 6, 3] }],
  });
  const bound = await boundTo(path, {
    ...NOTHING,
    resize: { image: { size: [9, 7], fit: "pad", padding: 0 } },
  });
  expect(bound.model).toMatchObject({
    inputs: [{ name: "image", shape: [-1, 9, 7, 3] }],
    outputs: [{ name: "same", shape: [-1, 5, 6, 3] }],
    adapter: { inputs: [{ shape: [-1, 5, 6, 3], resize: { fit: "pad" } }] },
  });
});

test("a list of sizes is an axis of buckets", async () => {
  const bound = await boundTo(PATH, {
    ...NOTHING,
    axes: { height: [2, 4], width: 8, n: "batch" },
    padding: 7,
    constants: { rate: 1 },
  });
  expect(bound.model?.buckets).toEqual([
    { inputs: [{ input: 0, axis: 2 }], sizes: [2, 4], padding: 7 },
  ]);
  expect(bound.model?.inputs[0]?.shape).toEqual([-1, 1, -1, 8]);
  expect(bound.model?.outputs[0]?.shape).toEqual([-1, 1, -1]);
});

test("an input without rows is sent with one at a time", async () => {
  const axes = { height: 2, width: 2, n: "batch" } as const;
  const { model } = await boundTo(PATH, { ...NOTHING, axes });
  expect(model?.adapter?.maxRows).toBe(1);
  expect(model?.inputs.map(({ shape }) => shape)).toEqual([[1, 1, 2, 2], [1, 2, 3], [1]]);
});

test("a model whose rows are in front and whose sizes are fixed is taken as it is", async () => {
  const path = fileOf("plain.onnx", {
    nodes: [{ op: "Identity", inputs: ["x"], output: "y" }],
    inputs: [{ name: "x", type: "float32", shape: ["batch", 3] }],
    outputs: [{ name: "y", type: "float32", shape: ["batch", 3] }],
  });
  expect((await boundTo(path, undefined)).model?.adapter).toBeUndefined();
});

test.each<[string, Partial<Binding> | undefined, RegExp]>([
  ["an open axis", undefined, /axis 2 of input "image" float32\[-1, 1, -1, -1\] is open: state/],
  ["an axis there is not", { axes: { hight: 4 } }, /has an axis "hight"; did you mean "height"\?/],
  [
    "a size that is another",
    { axes: { "image.1": 3 } },
    /axis 1 of input "image" is 1 in the file/,
  ],
  [
    "an unknown input",
    { inputs: { picture: "image" } },
    /no input "picture"|the name in the model/,
  ],
  ["a map the wrong way round", { inputs: { photo: "image" } }, /write "photo": "image"/],
  ["an unknown output", { outputs: { a: out("summs") } }, /no output "summs"; did you mean "sums"/],
  ["outputs the wrong way round", { outputs: { sums: out("total") } }, /write "total": "sums"/],
  ["an unknown constant", { constants: { rat: 1 } }, /has no input "rat"/],
  ["a size of no image", { resize: { rate: RESIZE() } }, /expected an image, whose last axes/],
])("refuses %s", async (_, said, message) => {
  const binding = said === undefined ? undefined : { ...NOTHING, ...said };
  const { mistakes = [] } = await boundTo(PATH, binding);
  expect(mistakes.map((mistake) => mistake.message).join("\n")).toMatch(message);
});

test("refuses labels that are not the classes, and says how a space is added", async () => {
  const { mistakes = [] } = await boundTo(PATH, {
    ...NOTHING,
    axes: { height: 2, width: 2, n: "batch" },
    outputs: {
      text: { of: "memoryN", as: "ctc", k: null, labels: ["a"], blank: 0 },
      best: { of: "memoryN", as: "top-k", k: 2, labels: ["a", "b"], blank: null },
    },
  });
  expect(mistakes.map(({ message }) => message)).toEqual([
    'output "memoryN" has 3 classes, got 1 labels and the blank; ' +
      "if the last class is a space, write space: true",
    'output "memoryN" has 3 classes, got 2 labels',
  ]);
});

function out(of: string) {
  return { of, as: "tensor", k: null, labels: null, blank: null } as const;
}

function RESIZE() {
  return { size: [2, 2], fit: "fill", padding: 0 } as const;
}

function fileOf(name: string, graph: Parameters<typeof onnxModel>[0]): string {
  const path = join(folder, name);
  writeFileSync(path, onnxModel(graph));
  return path;
}

async function boundTo(path: string, binding: Binding | undefined) {
  return bindModel(path, await describeModel(path), binding, ["tasks", 0, "variants", 0], {
    probeFile: probeModelFile,
  });
}
