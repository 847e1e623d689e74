import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openLayeredModel } from "../../../compiler/onnx/layered-model.ts";
import type { TensorProto } from "../../../compiler/onnx/onnx-pb.ts";
import { probeTensors } from "../../../runtime/exec/tensors/probe-tensors.ts";
import { floatTensor, GraphBuilder, modelOf, tensorOf } from "../../support/onnx-graphs.ts";
import {
  cutAt,
  modelFile,
  randomTensor,
  relativeDifference,
  runStages,
  runWhole,
} from "../../support/onnx-stages.ts";
import { external as externalTensor } from "../../support/split-model.ts";

const FEEDS = new Map([["x", randomTensor([1, 4], 9)]]);

/** (x + first) × second: an initializer and the attribute of a constant. */
function modelWith(first: TensorProto, second: TensorProto): Uint8Array {
  const g = new GraphBuilder();
  g.initializers.push(first);
  const sum = g.node("Add", ["x", "first"]);
  g.node("Mul", [sum, g.node("Constant", [], { value: second })], {}, { output: ["y"] });
  return modelOf(g.graph([tensorOf("x", ["batch", 4])], [tensorOf("y", ["batch", 4])]));
}

function external(name: string, entries: Readonly<Record<string, string>>): TensorProto {
  return externalTensor(name, 4, entries);
}

const FIRST = floatTensor("first", [4], [1, 2, 3, 4]);
const SECOND = floatTensor("second", [4], [5, 6, 7, 8]);

test("data beside the model is part of every stage that needs it", async () => {
  const location = "weights/all.bin";
  const path = modelFile(
    modelWith(
      external("first", { location, offset: "4", length: "16" }),
      external("second", { location, offset: "20" }),
    ),
  );
  mkdirSync(join(dirname(path), "weights"));
  const data = Buffer.concat([new Uint8Array(4), FIRST.rawData, SECOND.rawData]);
  writeFileSync(join(dirname(path), location), data);
  const layered = await openLayeredModel(path, probeTensors);
  const whole = await runWhole(modelWith(FIRST, SECOND), FEEDS);
  for (const ends of [[], [1]]) {
    const values = await runStages(cutAt(layered, ends), FEEDS);
    expect(relativeDifference(values.get("y"), whole.get("y"))).toBeLessThan(1e-5);
  }
});

test.each([
  ["an absolute path", "/etc/hostname"],
  ["the folder above", "../weights.bin"],
  ["a detour through the folder above", "weights/../../weights.bin"],
  ["a path of another system", "C:\\weights.bin"],
  ["no place", ""],
])("refuses data at %s", async (_, location) => {
  const path = modelFile(modelWith(external("first", { location }), SECOND));
  const expected =
    `${path}: tensor "first": external data at "${location}": leaves the folder; ` +
    "allowed: a file inside the model's folder";
  await expect(openLayeredModel(path, probeTensors)).rejects.toThrow(expected);
});

test("refuses data behind a link that leaves the folder", async () => {
  const elsewhere = modelFile(new Uint8Array(64));
  const path = modelFile(modelWith(FIRST, external("second", { location: "link.bin" })));
  symlinkSync(elsewhere, join(dirname(path), "link.bin"));
  await expect(openLayeredModel(path, probeTensors)).rejects.toThrow(
    /tensor "second": external data at "link.bin": is a link to .*; allowed: a file inside/,
  );
});

test.each([
  ["is missing", { location: "none.bin" }, /at "none.bin": expected a readable file, got/],
  [
    "is too short",
    { location: "short.bin", offset: "8", length: "16" },
    /at "short.bin": expected 16 bytes from 8 on; the file has 12 bytes$/,
  ],
  [
    "is for another shape",
    { location: "short.bin", length: "12" },
    /tensor "first": external data at "short.bin": expected 16 bytes .*, got 12$/,
  ],
  ["has no offset", { location: "short.bin", offset: "-4" }, /offset: expected an integer number/],
  ["ends before its shape does", { location: "short.bin" }, /expected 16 bytes from 0 on; the f/],
  ["is a folder", { location: "folder" }, /at "folder": (not a file|expected a readable file)/],
])("refuses data that %s", async (_, entries, expected) => {
  const path = modelFile(modelWith(external("first", entries), SECOND));
  writeFileSync(join(dirname(path), "short.bin"), new Uint8Array(12));
  mkdirSync(join(dirname(path), "folder"));
  await expect(openLayeredModel(path, probeTensors)).rejects.toThrow(expected);
});
