import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  type LayeredModel,
  withStages,
} from "../../../../compiler/methods/accordion/stage-models.ts";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { accordionBundle, chainModel } from "../../../support/accordion-bundle.ts";

const tensor = (name: string, rows = 1): TensorInfo => ({
  name,
  dtype: "float32",
  shape: [rows, 4],
});

/** A chain, whose bytes say which layers they are. @param lastRows of the output of the model. */
function chainOf(layerCount: number, lastRows = 1): LayeredModel {
  return {
    layerCount,
    stage: (from, to) => ({
      bytes: Buffer.from(`layers ${from}-${to}`),
      inputs: [tensor(`h${from}`)],
      outputs: [to === layerCount ? tensor("y", lastRows) : tensor(`h${to}`)],
    }),
  };
}

/** Two models of which the first is cut. */
function uncut() {
  const bundle = accordionBundle();
  const model = chainModel("deep", 6);
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) =>
      variant.name === "deep" ? { ...variant, model } : variant,
    ),
  }));
  return { ...bundle, tasks };
}

/** What of the application counts here. */
function applicationOf(paths: readonly (string | null)[]) {
  const variants = paths.map((model) => ({ model }));
  return { tasks: [{ variants }] } as unknown as Parameters<typeof withStages>[1];
}

const APPLICATION = applicationOf(["models/deep.onnx", null]);

test("every stage of every pipeline is cut once, in the order of the layers", () => {
  const cut = withStages(uncut(), APPLICATION, new Map([["models/deep.onnx", chainOf(6)]]));
  if ("code" in cut) throw new Error(cut.message);
  const [deep, small] = cut.bundle.tasks[0]?.variants ?? [];
  const ranges = new Set<string>();
  for (const pipeline of deep?.pipelines ?? []) {
    let from = 0;
    for (const layers of pipeline?.cut ?? []) {
      ranges.add(`deep.${from}-${from + layers}`);
      from += layers;
    }
  }
  const names = deep?.stages.map(({ model }) => model.file) ?? [];
  const withoutDigests = names.map((name) => name.replace(/\.[\da-f]{12}\.onnx$/, ""));
  expect(new Set(withoutDigests)).toEqual(ranges);
  for (const { model } of deep?.stages ?? []) {
    expect(model.file).toContain(model.sha256.slice(0, 12));
  }
  expect(names).toHaveLength(ranges.size);
  const starts = deep?.stages.map(({ from, to }) => 100 * from + to) ?? [];
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
  expect(small?.stages).toEqual([]);
  expect(cut.files.map(({ file }) => file)).toEqual(names);
});

test("a file has the bytes that its digest in the bundle is of", () => {
  const cut = withStages(uncut(), APPLICATION, new Map([["models/deep.onnx", chainOf(6)]]));
  if ("code" in cut) throw new Error(cut.message);
  const stages = cut.bundle.tasks[0]?.variants[0]?.stages ?? [];
  for (const [index, { bytes, sha256 }] of cut.files.entries()) {
    const { from, to, model } = stages[index] ?? {};
    expect(Buffer.from(bytes()).toString()).toBe(`layers ${from}-${to}`);
    expect(createHash("sha256").update(bytes()).digest("hex")).toBe(sha256);
    expect(model?.sha256).toBe(sha256);
  }
});

test("a model whose output has as many rows as the data say is refused", () => {
  const layered = new Map([["models/deep.onnx", chainOf(6, -1)]]);
  expect(withStages(uncut(), APPLICATION, layered)).toEqual({
    code: "INPUT_CONFLICT",
    path: ["tasks", 0, "variants", 0, "model"],
    message:
      'the size of output "y", [-1,4], changes with the data; ' +
      "expected a model whose sizes for one instance are fixed",
  });
});
