/** ONNX files that run in a row: of an image of eight numbers, in three steps, and as one model. */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import type { ModelFile } from "../../runtime/bundle/schema.ts";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";

const SCALED = { op: "Mul", inputs: ["x", "two"], output: "scaled" };
const FLOORED = { op: "Floor", inputs: ["scaled"], output: "floored" };
const LABEL = { op: "Cast", inputs: ["floored"], output: "label", attributes: { to: 7 } };
const MIXED = { op: "Add", inputs: ["scaled", "bias"], output: "mixed" };
const COUNTED = { op: "Cast", inputs: ["label"], output: "counted", attributes: { to: 1 } };
const SUM = { op: "Sub", inputs: ["mixed", "counted"], output: "y" };
const TWO = { name: "two", type: "float32", shape: [1], values: [2] } as const;

const float = (name: string) => ({ name, type: "float32", shape: ["n", 8] }) as const;
const whole = (name: string) => ({ name, type: "int64", shape: ["n", 8] }) as const;

/**
 * The first gives a value for the last alone, and one that nobody takes; the second takes an input
 * from outside; between them goes an element type that no provider keeps on a device.
 */
const GRAPHS = {
  first: {
    nodes: [SCALED, FLOORED, LABEL],
    constants: [TWO],
    inputs: [float("x")],
    outputs: [float("scaled"), float("floored"), whole("label")],
  },
  second: {
    nodes: [MIXED],
    inputs: [float("scaled"), float("bias")],
    outputs: [float("mixed")],
  },
  third: { nodes: [COUNTED, SUM], inputs: [float("mixed"), whole("label")], outputs: [float("y")] },
  whole: {
    nodes: [SCALED, FLOORED, LABEL, MIXED, COUNTED, SUM],
    constants: [TWO],
    inputs: [float("x"), float("bias")],
    outputs: [float("y")],
  },
} satisfies Readonly<Record<string, Parameters<typeof onnxModel>[0]>>;

export type LinkName = keyof typeof GRAPHS;

let folder: string | undefined;

/** Path of one of the files. */
export function linkPath(name: LinkName): string {
  // What is temporary goes with the test file that made it, and the next one needs it anew.
  if (folder === undefined || !existsSync(folder)) {
    folder = mkdtempSync(join(tmpdir(), "stratagem-links-"));
  }
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, onnxModel(GRAPHS[name]));
  return path;
}

/** A variant of files as a bundle has them; `paths` are theirs. Of stages each takes one row. */
export function variantOf(
  { inputs, outputs, parts }: ModelFile,
  [path = "", ...others]: readonly string[],
): VariantModel {
  const warmBatches = inputs[0]?.shape[0] === 1 ? [1] : [1, 3];
  const tensors = { inputs, outputs, warmBatches };
  if (parts === undefined) return { name: "links", path, ...tensors };
  const files = parts.map((part, index) => ({ ...part, path: others[index] ?? "" }));
  return { name: "links", path, ...tensors, parts: files };
}
