/**
 * A cascade whose every answer can be foretold. A row of "x" is two verdicts and a value: the gate
 * sends the row to the slow model if the first is 1, and its quick answer to the end if the second
 * is. What the slow model finds, twice the value, goes to the end as well, where it is multiplied
 * by ten.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import type {
  Feed,
  InferlineBundle,
  ModelFile,
  ScaledTask,
  StageTask,
  TensorInfo,
} from "../../../../runtime/bundle/schema.ts";
import type { Batch, BatchResult } from "../../../../runtime/exec/models/executor.ts";
import type { Answer } from "../../../../runtime/server/requests/request.ts";
import { type InferlineBundleSketch, inferlineBundle } from "../../../support/inferline-bundle.ts";

export interface CascadeRow {
  readonly escalate: number;
  readonly keep: number;
  readonly value: number;
}

export const GATE = 0;
export const SLOW = 1;
export const LAST = 2;

const X = { name: "x", dtype: "float32", shape: [-1, 3] };
const IMAGE = { ...X, name: "image" };
const VERDICT = { dtype: "int64", shape: [-1] };
const NUMBER = { dtype: "float32", shape: [-1, 1] };

/** Inputs and outputs of gate, slow and last. */
const TENSORS: readonly { inputs: readonly TensorInfo[]; outputs: readonly TensorInfo[] }[] = [
  {
    inputs: [X],
    outputs: [
      { name: "escalate", ...VERDICT },
      { name: "keep", ...VERDICT },
      IMAGE,
      { name: "quick", ...NUMBER },
    ],
  },
  { inputs: [IMAGE], outputs: [{ name: "score", ...NUMBER }] },
  { inputs: [{ name: "value", ...NUMBER }], outputs: [{ name: "total", ...NUMBER }] },
];

/** By parent and child. */
const FEEDS: Readonly<Record<string, Feed>> = {
  "0 1": { inputs: [{ input: "image", output: "image" }], count: "escalate" },
  "0 2": { inputs: [{ input: "value", output: "quick" }], count: "keep" },
  "1 2": { inputs: [{ input: "value", output: "score" }], count: null },
};

const SKETCH: InferlineBundleSketch = {
  sloMs: 1000,
  workers: [6],
  tasks: [
    { name: "gate", latencyMs: { 1: 5, 4: 8 }, accuracy: 0.7 },
    { name: "slow", from: { gate: 0.4 }, latencyMs: { 1: 20, 4: 50 }, accuracy: 0.9 },
    { name: "last", from: { gate: 0.6, slow: 1 }, latencyMs: { 1: 2, 4: 4 }, accuracy: 0.8 },
  ],
  levels: [
    {
      loadQps: 20,
      stages: [
        [4, 1],
        [2, 2],
        [4, 1],
      ],
    },
  ],
};

export function servedStages(
  sketch: Partial<InferlineBundleSketch> = {},
  feeds: Readonly<Record<string, Feed | null>> = {},
): InferlineBundle {
  const bundle = inferlineBundle({ ...SKETCH, ...sketch });
  return { ...bundle, tasks: withModels(bundle.tasks, feeds) };
}

/**
 * The tasks of a cascade, gate, slow and last, with their models and what they send to each other.
 */
export function withModels<T extends StageTask | ScaledTask>(
  tasks: readonly T[],
  feeds: Readonly<Record<string, Feed | null>> = {},
): T[] {
  const models = modelBytes();
  return tasks.map((task, index) => {
    const bytes = models[index] ?? new Uint8Array();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const tensors = TENSORS[index] ?? { inputs: [], outputs: [] };
    const model: ModelFile = { file: `${task.name}.onnx`, sha256, ...tensors };
    return {
      ...task,
      variants: task.variants.map((variant) => ({ ...variant, model })),
      edges: task.edges.map((edge) => {
        const key = `${edge.parent} ${index}`;
        const feed = feeds[key] === undefined ? (FEEDS[key] ?? null) : feeds[key];
        return { ...edge, feed };
      }),
    };
  });
}

/** Writes the models of `servedStages` into a folder. */
export function writeModels(folder: string): void {
  for (const [index, bytes] of modelBytes().entries()) {
    writeFileSync(join(folder, `${["gate", "slow", "last"][index]}.onnx`), bytes);
  }
}

function modelBytes(): Uint8Array[] {
  return [gateModel(), slowModel(), lastModel()];
}

function gateModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "x", type: "float32", shape: ["rows", 3] }],
    outputs: [
      { name: "escalate", type: "int64", shape: ["rows"] },
      { name: "keep", type: "int64", shape: ["rows"] },
      { name: "image", type: "float32", shape: ["rows", 3] },
      { name: "quick", type: "float32", shape: ["rows", 1] },
    ],
    constants: [
      ...[0, 1, 2, 3].map((value) => ({
        name: `at${value}`,
        type: "int64" as const,
        shape: [1],
        values: [value],
      })),
      { name: "flat", type: "int64", shape: [1], values: [-1] },
    ],
    nodes: [
      { op: "Slice", inputs: ["x", "at0", "at1", "at1"], output: "first" },
      { op: "Slice", inputs: ["x", "at1", "at2", "at1"], output: "second" },
      { op: "Slice", inputs: ["x", "at2", "at3", "at1"], output: "quick" },
      { op: "Reshape", inputs: ["first", "flat"], output: "flatFirst" },
      { op: "Cast", inputs: ["flatFirst"], output: "escalate", attributes: { to: 7 } },
      { op: "Reshape", inputs: ["second", "flat"], output: "flatSecond" },
      { op: "Cast", inputs: ["flatSecond"], output: "keep", attributes: { to: 7 } },
      { op: "Identity", inputs: ["x"], output: "image" },
    ],
  });
}

function slowModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "image", type: "float32", shape: ["rows", 3] }],
    outputs: [{ name: "score", type: "float32", shape: ["rows", 1] }],
    constants: [
      { name: "from", type: "int64", shape: [1], values: [2] },
      { name: "to", type: "int64", shape: [1], values: [3] },
      { name: "axis", type: "int64", shape: [1], values: [1] },
      { name: "two", type: "float32", shape: [1], values: [2] },
    ],
    nodes: [
      { op: "Slice", inputs: ["image", "from", "to", "axis"], output: "value" },
      { op: "Mul", inputs: ["value", "two"], output: "score" },
    ],
  });
}

function lastModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "value", type: "float32", shape: ["rows", 1] }],
    outputs: [{ name: "total", type: "float32", shape: ["rows", 1] }],
    constants: [{ name: "ten", type: "float32", shape: [1], values: [10] }],
    nodes: [{ op: "Mul", inputs: ["value", "ten"], output: "total" }],
  });
}

/** What the models answer, without them. */
export function outputsOf({ variant, inputs }: Batch): BatchResult["outputs"] {
  const bytes = Uint8Array.from(Buffer.concat([...(inputs[0] ?? [])]));
  const values = new Float32Array(bytes.buffer);
  if (variant === LAST)
    return [
      floats(
        1,
        values.map((value) => 10 * value),
      ),
    ];
  const rows = rowsOf(values);
  if (variant === SLOW)
    return [
      floats(
        1,
        Float32Array.from(rows, ({ value }) => 2 * value),
      ),
    ];
  return [
    verdicts(rows.map(({ escalate }) => escalate)),
    verdicts(rows.map(({ keep }) => keep)),
    floats(3, values),
    floats(
      1,
      Float32Array.from(rows, ({ value }) => value),
    ),
  ];
}

function rowsOf(values: Float32Array): CascadeRow[] {
  return Array.from({ length: values.length / 3 }, (_, row) => ({
    escalate: values[3 * row] ?? 0,
    keep: values[3 * row + 1] ?? 0,
    value: values[3 * row + 2] ?? 0,
  }));
}

export function verdicts(counts: readonly number[]) {
  const bytes = new Uint8Array(BigInt64Array.from(counts, BigInt).buffer);
  return { shape: [counts.length], bytes };
}

export function floats(width: number, values: Float32Array) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { shape: width === 1 ? [values.length, 1] : [values.length / width, width], bytes };
}

export function rowBytes(rows: readonly CascadeRow[]): Uint8Array {
  const values = rows.flatMap(({ escalate, keep, value }) => [escalate, keep, value]);
  return new Uint8Array(new Float32Array(values).buffer);
}

/** The outputs of a cascade by name, computed without it. */
export function expectedOutputs(rows: readonly CascadeRow[]): Record<string, number[]> {
  const slow = rows.flatMap(({ escalate, value }, row) => (escalate === 1 ? [{ row, value }] : []));
  const last = rows.flatMap(({ escalate, keep, value }, row) => {
    // Of the two edges the one from the gate comes first.
    if (keep === 1) return [{ row, value }];
    return escalate === 1 ? [{ row, value: 2 * value }] : [];
  });
  return {
    "gate.escalate": rows.map(({ escalate }) => escalate),
    "gate.keep": rows.map(({ keep }) => keep),
    "gate.image": rows.flatMap(({ escalate, keep, value }) => [escalate, keep, value]),
    "gate.quick": rows.map(({ value }) => value),
    "slow.score": slow.map(({ value }) => 2 * value),
    "slow.request_row": slow.map(({ row }) => row),
    "last.total": last.map(({ value }) => 10 * value),
    "last.request_row": last.map(({ row }) => row),
  };
}

const INTEGERS = ["gate.escalate", "gate.keep", "slow.request_row", "last.request_row"];

/** The outputs of an answer by name. @param names in the order of the signature. */
export function outputsByName({ outputs }: Answer, names: readonly string[]) {
  const entries = outputs.map(({ parts }, index) => {
    const name = names[index] ?? "";
    const bytes = Uint8Array.from(Buffer.concat([...parts]));
    const values = INTEGERS.includes(name)
      ? Array.from(new BigInt64Array(bytes.buffer), Number)
      : [...new Float32Array(bytes.buffer)];
    return [name, values] as const;
  });
  return Object.fromEntries(entries);
}
