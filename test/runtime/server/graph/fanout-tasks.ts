/**
 * A pipeline whose rows multiply and are gathered, and whose every answer can be foretold. A row of
 * "x" is a count and a value: it is cut into so many pieces, the value and a quarter more for each.
 * What is found of a piece is twice it; the sum of all that was found of a row, and of each two
 * that follow each other, are answers.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import type {
  InferlineBundle,
  ModelFile,
  StageEdge,
  StageTask,
  ThemisBundle,
} from "../../../../runtime/bundle/schema.ts";
import type { Batch, BatchResult } from "../../../../runtime/exec/models/executor.ts";
import { type InferlineBundleSketch, inferlineBundle } from "../../../support/inferline-bundle.ts";
import { themisBundle } from "../../../support/themis-bundle.ts";
import { floats, verdicts } from "./served-tasks.ts";

export interface CutRow {
  readonly count: number;
  readonly value: number;
}

export const CUT = 0;
export const FIND = 1;
export const SUM = 2;
export const PAIR = 3;

const ROW = ["rows"] as const;
const float = (name: string, ...row: (number | string)[]) =>
  ({ name, type: "float32", shape: [...ROW, ...row] }) as const;
const PIECE = { name: "piece", type: "float32", shape: ["pieces", 1] } as const;
/** A row becomes at most so many pieces. */
const MOST_PIECES = 8;

const MODELS: readonly Parameters<typeof onnxModel>[0][] = [
  {
    inputs: [float("x", 2)],
    outputs: [{ name: "count", type: "int64", shape: ROW }, PIECE, float("same", 1)],
    constants: [
      ...[0, 1, 2].map((value) => constant(`at${value}`, value)),
      constant("flat", -1),
      { name: "column", type: "int64", shape: [2], values: [-1, 1] },
      floatConstant("numbers", (piece) => piece),
      floatConstant("quarters", (piece) => piece / 4),
    ],
    nodes: [
      { op: "Slice", inputs: ["x", "at0", "at1", "at1"], output: "counts" },
      { op: "Slice", inputs: ["x", "at1", "at2", "at1"], output: "same" },
      { op: "Reshape", inputs: ["counts", "flat"], output: "flatCounts" },
      { op: "Cast", inputs: ["flatCounts"], output: "count", attributes: { to: 7 } },
      { op: "Less", inputs: ["numbers", "counts"], output: "isPiece" },
      { op: "Cast", inputs: ["isPiece"], output: "mask", attributes: { to: 1 } },
      { op: "NonZero", inputs: ["mask"], output: "places" },
      { op: "Transpose", inputs: ["places"], output: "indices" },
      { op: "Add", inputs: ["same", "quarters"], output: "grid" },
      { op: "GatherND", inputs: ["grid", "indices"], output: "pieces" },
      { op: "Reshape", inputs: ["pieces", "column"], output: "piece" },
    ],
  },
  {
    inputs: [float("piece", 1)],
    outputs: [float("found", 1)],
    constants: [{ name: "two", type: "float32", shape: [1], values: [2] }],
    nodes: [{ op: "Mul", inputs: ["piece", "two"], output: "found" }],
  },
  sumModel("all", "all"),
  sumModel("two", 2),
];

function sumModel(input: string, rows: number | string): Parameters<typeof onnxModel>[0] {
  return {
    inputs: [float(input, rows, 1)],
    outputs: [float("sum", 1)],
    constants: [constant("axis", 1)],
    nodes: [
      { op: "ReduceSum", inputs: [input, "axis"], output: "sum", attributes: { keepdims: 0 } },
    ],
  };
}

function constant(name: string, value: number) {
  return { name, type: "int64", shape: [1], values: [value] } as const;
}

function floatConstant(name: string, at: (piece: number) => number) {
  const values = Array.from({ length: MOST_PIECES }, (_, piece) => at(piece));
  return { name, type: "float32", shape: [1, MOST_PIECES], values } as const;
}

/** By task, what leads there. */
const EDGES: readonly Partial<StageEdge>[] = [
  {},
  { fanout: 3, feed: { inputs: [{ input: "piece", output: "piece" }], count: "count" } },
  { gather: "all", feed: { inputs: [{ input: "all", output: "found" }], count: null } },
  { gather: 2, feed: { inputs: [{ input: "two", output: "found" }], count: null } },
];
const NAMES = ["cut", "find", "sum", "pair"];

const SKETCH: InferlineBundleSketch = {
  sloMs: 1000,
  workers: [6],
  tasks: [
    { name: "cut", latencyMs: { 1: 5, 4: 8 }, accuracy: 0.7 },
    { name: "find", from: { cut: { fanout: 3 } }, latencyMs: { 1: 2, 4: 4 }, accuracy: 0.9 },
    { name: "sum", from: { find: { gather: "all" } }, latencyMs: { 1: 1 }, accuracy: 0.8 },
    { name: "pair", from: { find: { gather: 2 } }, latencyMs: { 1: 1, 4: 2 }, accuracy: 0.8 },
  ],
  levels: [
    {
      loadQps: 20,
      stages: [
        [4, 1],
        [4, 2],
        [1, 1],
        [4, 1],
      ],
    },
  ],
};

/** Provisioned. */
export function cutStages(): InferlineBundle {
  const bundle = inferlineBundle(SKETCH);
  return { ...bundle, tasks: withModels(bundle.tasks) };
}

/** Scaled. */
export function cutScales(): ThemisBundle {
  const bundle = themisBundle({
    tasks: NAMES.map((name, task) => ({
      name,
      ...(task === 0 ? {} : { from: { [task === 1 ? "cut" : "find"]: 1 } }),
      scaleFactor: [1, 3, 1, 1][task] ?? 1,
      latencyMs: [task === SUM ? [2] : [2, 3, 4, 5]],
    })),
    policy: { maxBatch: 4, maxCores: 1 },
    workers: 6,
    cores: 1,
    levels: [{ loadQps: 20, steady: NAMES.map((_, task) => [task === SUM ? 1 : 4, 1, 1]) }],
  });
  return { ...bundle, tasks: withModels(bundle.tasks) };
}

function withModels<T extends StageTask | ThemisBundle["tasks"][number]>(tasks: readonly T[]): T[] {
  const bytesByTask = modelBytes();
  return tasks.map((task, index) => {
    const sha256 = createHash("sha256")
      .update(bytesByTask[index] ?? "")
      .digest("hex");
    const { inputs = [], outputs = [] } = MODELS[index] ?? {};
    const model: ModelFile = {
      file: `${task.name}.onnx`,
      sha256,
      inputs: inputs.map(infoOf),
      outputs: outputs.map(infoOf),
    };
    return {
      ...task,
      variants: task.variants.map((variant) => ({ ...variant, model })),
      edges: task.edges.map((edge) => ({ ...edge, ...EDGES[index] })),
    };
  });
}

function infoOf({ name, type, shape }: { name: string; type: string; shape: readonly unknown[] }) {
  return { name, dtype: type, shape: shape.map((size) => (typeof size === "number" ? size : -1)) };
}

/** Names of first dimensions, as the models have them. */
export const AXIS_NAMES = MODELS.map(({ inputs, outputs }) =>
  Object.fromEntries([...inputs, ...outputs].map(({ name, shape }) => [name, `${shape[0]}`])),
);

/** Writes the models into a folder. */
export function writeCutModels(folder: string): void {
  for (const [index, bytes] of modelBytes().entries()) {
    writeFileSync(join(folder, `${NAMES[index]}.onnx`), bytes);
  }
}

function modelBytes(): Uint8Array[] {
  return MODELS.map((model) => onnxModel(model));
}

/** What the models answer, without them. */
export function cutOutputsOf({ variant, inputs, rows }: Batch): BatchResult["outputs"] {
  const bytes = Uint8Array.from(Buffer.concat([...(inputs[0] ?? [])]));
  const values = [...new Float32Array(bytes.buffer)];
  const numbers = (of: readonly number[]) => floats(1, Float32Array.from(of));
  if (variant === FIND) return [numbers(values.map((value) => 2 * value))];
  if (variant !== CUT) {
    const each = values.length / rows;
    const sums = Array.from({ length: rows }, (_, row) =>
      values.slice(row * each, (row + 1) * each).reduce((sum, value) => sum + value, 0),
    );
    return [numbers(sums)];
  }
  const cuts = Array.from({ length: rows }, (_, row) => ({
    count: values[2 * row] ?? 0,
    value: values[2 * row + 1] ?? 0,
  }));
  return [
    verdicts(cuts.map(({ count }) => count)),
    numbers(cuts.flatMap(piecesOf)),
    numbers(cuts.map(({ value }) => value)),
  ];
}

export function cutBytes(rows: readonly CutRow[]): Uint8Array {
  return new Uint8Array(
    new Float32Array(rows.flatMap(({ count, value }) => [count, value])).buffer,
  );
}

function piecesOf({ count, value }: CutRow): number[] {
  return Array.from({ length: count }, (_, piece) => value + piece / 4);
}

/** The outputs by name, computed without the pipeline. */
export function expectedCuts(rows: readonly CutRow[]): Record<string, number[]> {
  const founds = rows.map((row) => piecesOf(row).map((piece) => 2 * piece));
  const rowOf = (counts: readonly number[]) =>
    counts.flatMap((count, row) => new Array<number>(count).fill(row));
  const pairs = founds.map((found) =>
    Array.from(
      { length: Math.floor(found.length / 2) },
      (_, pair) => (found[2 * pair] ?? 0) + (found[2 * pair + 1] ?? 0),
    ),
  );
  const whole = founds.flatMap((found, row) => (found.length > 0 ? [{ found, row }] : []));
  return {
    "cut.count": rows.map(({ count }) => count),
    "cut.piece": rows.flatMap(piecesOf),
    "cut.same": rows.map(({ value }) => value),
    "find.found": founds.flat(),
    "find.request_row": rowOf(rows.map(({ count }) => count)),
    "sum.sum": whole.map(({ found }) => found.reduce((sum, one) => sum + one, 0)),
    "sum.request_row": whole.map(({ row }) => row),
    "pair.sum": pairs.flat(),
    "pair.request_row": rowOf(pairs.map(({ length }) => length)),
  };
}
