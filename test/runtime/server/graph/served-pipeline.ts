/**
 * A pipeline whose every answer can be foretold. A row of "x" is a number of crops and a value: the
 * detector cuts that many crops, each the value and its position; the classifier multiplies a crop
 * by a factor that tells its variant.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onnxModel } from "../../../../lab/models/onnx-graph.ts";
import type { LokiBundle, ModelFile, TensorInfo } from "../../../../runtime/bundle/schema.ts";
import type { AxisNames } from "../../../../runtime/server/graph/signature/output-groups.ts";
import type { LevelSketch, LokiSketch } from "../../../support/loki-bundle.ts";
import { chainBundle } from "../../../support/loki-samples.ts";

/** Crops of a row at most. */
const MAX_CROPS = 8;

/** Of the variants of the classifier, "small" and "large". */
export const FACTORS: readonly number[] = [-1, 2];

const DETECTOR_INPUTS: readonly TensorInfo[] = [{ name: "x", dtype: "float32", shape: [-1, 2] }];
const DETECTOR_OUTPUTS: readonly TensorInfo[] = [
  { name: "crops", dtype: "float32", shape: [-1, 2] },
  { name: "crop_count", dtype: "int64", shape: [-1] },
  { name: "boxes", dtype: "float32", shape: [-1, 1] },
  { name: "value", dtype: "float32", shape: [-1, 1] },
];
const CLASSIFIER_INPUTS: readonly TensorInfo[] = [
  { name: "crop", dtype: "float32", shape: [-1, 2] },
];
const CLASSIFIER_OUTPUTS: readonly TensorInfo[] = [
  { name: "logits", dtype: "float32", shape: [-1, 2] },
];

const DETECTOR_AXES: AxisNames = {
  x: "rows",
  crops: "total",
  crop_count: "rows",
  boxes: "total",
  value: "rows",
};
/** Of detect small and large, classify small and large. */
export const AXIS_NAMES: readonly AxisNames[] = [DETECTOR_AXES, DETECTOR_AXES, {}, {}];

function detectorModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "x", type: "float32", shape: ["rows", 2] }],
    outputs: [
      { name: "crops", type: "float32", shape: ["total", 2] },
      { name: "crop_count", type: "int64", shape: ["rows"] },
      { name: "boxes", type: "float32", shape: ["total", 1] },
      { name: "value", type: "float32", shape: ["rows", 1] },
    ],
    constants: [
      { name: "zero", type: "int64", shape: [1], values: [0] },
      { name: "one", type: "int64", shape: [1], values: [1] },
      { name: "two", type: "int64", shape: [1], values: [2] },
      { name: "first", type: "int64", shape: [], values: [0] },
      { name: "second", type: "int64", shape: [], values: [1] },
      { name: "flat", type: "int64", shape: [1], values: [-1] },
      { name: "column", type: "int64", shape: [2], values: [-1, 1] },
      {
        name: "positions",
        type: "float32",
        shape: [1, MAX_CROPS],
        values: Array.from({ length: MAX_CROPS }, (_, position) => position),
      },
    ],
    nodes: [
      { op: "Slice", inputs: ["x", "zero", "one", "one"], output: "counts" },
      { op: "Slice", inputs: ["x", "one", "two", "one"], output: "value" },
      { op: "Less", inputs: ["positions", "counts"], output: "mask" },
      { op: "NonZero", inputs: ["mask"], output: "found" },
      { op: "Gather", inputs: ["found", "first"], output: "row" },
      { op: "Gather", inputs: ["found", "second"], output: "at" },
      { op: "Gather", inputs: ["value", "row"], output: "rowValue" },
      { op: "Reshape", inputs: ["at", "column"], output: "atColumn" },
      { op: "Cast", inputs: ["atColumn"], output: "position", attributes: { to: 1 } },
      { op: "Concat", inputs: ["rowValue", "position"], output: "crops", attributes: { axis: 1 } },
      { op: "Add", inputs: ["rowValue", "position"], output: "boxes" },
      { op: "Reshape", inputs: ["counts", "flat"], output: "flatCounts" },
      { op: "Cast", inputs: ["flatCounts"], output: "crop_count", attributes: { to: 7 } },
    ],
  });
}

function classifierModel(factor: number): Uint8Array {
  return onnxModel({
    inputs: [{ name: "crop", type: "float32", shape: ["rows", 2] }],
    outputs: [{ name: "logits", type: "float32", shape: ["rows", 2] }],
    constants: [{ name: "factor", type: "float32", shape: [1], values: [factor] }],
    nodes: [{ op: "Mul", inputs: ["crop", "factor"], output: "logits" }],
  });
}

/** Writes the models of `servedPipeline` into a folder. */
export function writeModels(folder: string): void {
  for (const [name, bytes] of Object.entries(modelBytes()))
    writeFileSync(join(folder, name), bytes);
}

function modelBytes(): Record<string, Uint8Array> {
  const detector = detectorModel();
  return {
    "detect-small.onnx": detector,
    "detect-large.onnx": detector,
    "classify-small.onnx": classifierModel(FACTORS[0] ?? 0),
    "classify-large.onnx": classifierModel(FACTORS[1] ?? 0),
  };
}

/** One plan: large models only. */
export const LARGE_ONLY: readonly LevelSketch[] = [
  {
    loadQps: 30,
    step: "hardware",
    instances: [
      { of: "detect/large", batch: 2, replicas: 1 },
      { of: "classify/large", batch: 4, replicas: 2 },
    ],
    paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
  },
];

/** The chain of a detector and a classifier with the models above. */
export function servedPipeline(options: Partial<LokiSketch> = {}): LokiBundle {
  const bundle = chainBundle({ sloMs: 1000, ...options });
  const files = modelBytes();
  const modelOf = (task: string, variant: string): ModelFile => {
    const file = `${task}-${variant}.onnx`;
    const isDetector = task === "detect";
    return {
      file,
      sha256: createHash("sha256")
        .update(files[file] ?? new Uint8Array())
        .digest("hex"),
      inputs: isDetector ? DETECTOR_INPUTS : CLASSIFIER_INPUTS,
      outputs: isDetector ? DETECTOR_OUTPUTS : CLASSIFIER_OUTPUTS,
    };
  };
  return {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      feed:
        task.parent === null
          ? null
          : { inputs: [{ input: "crop", output: "crops" }], count: "crop_count" },
      variants: task.variants.map((variant) => ({
        ...variant,
        model: modelOf(task.name, variant.name),
      })),
    })),
  };
}

/** A row of a request: how many crops it has, and the number they are told by. */
export interface SceneRow {
  readonly crops: number;
  readonly value: number;
}

export function sceneBytes(rows: readonly SceneRow[]): Uint8Array {
  return new Uint8Array(
    new Float32Array(rows.flatMap(({ crops, value }) => [crops, value])).buffer,
  );
}

/** What the pipeline answers, but for the factors of the logits. */
export function expectedOutputs(rows: readonly SceneRow[]) {
  const crops = rows.flatMap(({ crops: count, value }) =>
    Array.from({ length: count }, (_, position) => [value, position] as const),
  );
  return {
    crops: crops.flat(),
    cropCount: rows.map(({ crops: count }) => count),
    boxes: crops.map(([value, position]) => value + position),
    value: rows.map(({ value }) => value),
  };
}
