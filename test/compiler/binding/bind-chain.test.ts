/** Files that run in a row as one model: what it takes and gives, and what is refused. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { bindChain } from "../../../compiler/binding/bind-chain.ts";
import type { Binding } from "../../../compiler/spec/binding.ts";
import type { ModelFile, TensorInfo } from "../../../runtime/bundle/schema.ts";
import { describeModel } from "../../../runtime/exec/onnx/model-file.ts";
import { linkPath } from "../../support/onnx-links.ts";

const AT = ["tasks", 0, "variants", 0];
const bound = (paths: readonly string[], binding?: Binding) => {
  return bindChain(paths, binding, AT, { describe: describeModel });
};

/** By the tensors that each file is said to have. */
type Tensors = readonly (readonly [string, string, readonly number[]])[];

async function messageOf(files: Readonly<Record<string, readonly [Tensors, Tensors]>>) {
  const infos = (tensors: Tensors): TensorInfo[] => {
    return tensors.map(([name, dtype, shape]) => ({ name, dtype, shape }));
  };
  const describe = async (file: string) => {
    const [inputs = [], outputs = []] = files[file] ?? [];
    const model = { file, sha256: "0".repeat(64), inputs: infos(inputs), outputs: infos(outputs) };
    return { model: model as ModelFile, axisNames: {} };
  };
  const { mistakes = [] } = await bindChain(Object.keys(files), undefined, AT, { describe });
  return mistakes.map(({ path, message }) => `${path.slice(4).join(".")}: ${message}`);
}

test("passes values by name, and takes missing ones from requests", async () => {
  const { model } = await bound([linkPath("first"), linkPath("second"), linkPath("third")]);
  expect(model?.file).toBe("first.onnx");
  expect(model?.inputs.map(({ name }) => name)).toEqual(["x", "bias"]);
  expect(model?.outputs.map(({ name }) => name)).toEqual(["y"]);
  expect(model?.parts?.map(({ file }) => file)).toEqual(["second.onnx", "third.onnx"]);
  expect(model?.parts?.[1]?.inputs.map(({ name }) => name).sort()).toEqual(["label", "mixed"]);
});

const ROW = [-1, 4];
const X = ["x", "float32", ROW] as const;

test.each<[string, Parameters<typeof messageOf>[0], string[]]>([
  [
    "a head that takes nothing of its backbone",
    {
      "backbone.onnx": [[X], [["features", "float32", ROW]]],
      "head.onnx": [[["feature", "float32", ROW]], [["y", "float32", ROW]]],
    },
    [
      'model.1: head.onnx takes "feature" float32[?, 4], but no earlier file returns them; ' +
        'available are "features" float32[?, 4] of backbone.onnx',
    ],
  ],
  [
    "a value of another type",
    {
      "a.onnx": [[X], [["v", "float16", ROW]]],
      "b.onnx": [[["v", "float32", ROW]], [["y", "float32", ROW]]],
    },
    ['model.1: input "v" of b.onnx is float32[?, 4], but a.onnx returns float16[?, 4]'],
  ],
  [
    "a value of another size",
    {
      "a.onnx": [[X], [["v", "float32", [-1, 5]]]],
      "b.onnx": [[["v", "float32", ROW]], [["y", "float32", ROW]]],
    },
    ['model.1: input "v" of b.onnx is float32[?, 4], but a.onnx returns float32[?, 5]'],
  ],
  [
    "one input that two files take as different",
    {
      "a.onnx": [[X], [["v", "float32", ROW]]],
      "b.onnx": [
        [
          ["v", "float32", ROW],
          ["x", "int64", ROW],
        ],
        [["y", "float32", ROW]],
      ],
    },
    ['model.1: input "x" of b.onnx is int64[?, 4], but a.onnx takes float32[?, 4]'],
  ],
  [
    "a file that runs for nothing",
    {
      "a.onnx": [[X], [["v", "float32", ROW]]],
      "b.onnx": [[["v", "float32", ROW]], [["w", "float32", ROW]]],
      "c.onnx": [[["v", "float32", ROW]], [["y", "float32", ROW]]],
    },
    [
      'model.1: b.onnx returns "w" float32[?, 4], but no later file takes any of them; ' +
        'they take "v" float32[?, 4] of c.onnx',
    ],
  ],
  [
    "an input of open size",
    {
      "a.onnx": [[["x", "float32", [-1, -1]]], [["v", "float32", ROW]]],
      "b.onnx": [[["v", "float32", ROW]], [["y", "float32", ROW]]],
    },
    [
      'model: input "x" of a.onnx is float32[?, ?]; with several files inputs must ' +
        "have rows on axis 0 and fixed sizes on the other axes",
    ],
  ],
])("refuses %s", async (_, files, expected) => {
  expect(await messageOf(files)).toEqual(expected);
});

test("allows axes and names for single files only", async () => {
  const binding: Binding = {
    axes: { n: "batch" },
    padding: 0,
    inputs: {},
    outputs: null,
    constants: {},
    resize: {},
  };
  const { mistakes } = await bound([linkPath("first"), linkPath("third")], binding);
  expect(mistakes?.map(({ message }) => message)).toEqual([
    "axes, padding, inputs, outputs, constants and resize need a model of one file; " +
      "the tensors of these 2 files are used unchanged",
  ]);
});

test("the file that is no model is named", async () => {
  const broken = join(dirname(linkPath("first")), "broken.onnx");
  writeFileSync(broken, "");
  await expect(bound([linkPath("first"), broken])).rejects.toThrow(
    "broken.onnx: the file is empty",
  );
});
