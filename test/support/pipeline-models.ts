/** Small ONNX models of pipelines: detectors that always find the same, and a classifier. */
import { onnxModel } from "../../lab/models/onnx-graph.ts";

const SIDE = 64;
/** Boxes of an image, the first two of which count. */
const BOXES = [2, 2, 20, 20, 10, 30, 50, 60, 0, 0, 0, 0, 0, 0, 0, 0];

interface Found {
  readonly name: string;
  /** Shape of one row. */
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** A detector that returns the same numbers for each image, whatever is in it. */
export function detectorModel(input: string, ...found: readonly Found[]): Uint8Array {
  return onnxModel({
    inputs: [{ name: input, type: "float32", shape: ["rows", 3, SIDE, SIDE] }],
    outputs: found.map(({ name, shape }) => {
      const type = shape.length === 0 ? "int64" : "float32";
      return { name, type, shape: ["rows", ...shape] } as const;
    }),
    constants: [
      { name: "none", type: "float32", shape: [1], values: [0] },
      ...found.flatMap(({ name, shape, values }) => [
        { name: `${name}.own`, type: "float32", shape: [1, ...shape], values } as const,
        {
          name: `${name}.rank`,
          type: "int64",
          shape: [1 + shape.length],
          values: [-1, ...shape.map(() => 1)],
        } as const,
      ]),
    ],
    nodes: [
      {
        op: "ReduceMean",
        inputs: [input],
        output: "mean",
        attributes: { axes: [1, 2, 3], keepdims: 0 },
      },
      { op: "Mul", inputs: ["mean", "none"], output: "zero" },
      ...found.flatMap(({ name, shape }) => [
        { op: "Reshape", inputs: ["zero", `${name}.rank`], output: `${name}.zero` },
        { op: "Add", inputs: [`${name}.zero`, `${name}.own`], output: `${name}.sum` },
        {
          op: "Cast",
          inputs: [`${name}.sum`],
          output: name,
          attributes: { to: shape.length === 0 ? 7 : 1 },
        },
      ]),
    ],
  });
}

/** A tensor of boxes [4, 4] of an image. */
export function boxesNamed(name: string): Found {
  return { name, shape: [4, 4], values: BOXES };
}

export const TWO_BOXES: Found = { name: "count", shape: [], values: [2] };

/** What YOLO v8 returns: middles, sizes and two scores of four boxes. */
export const PREDICTIONS: Found = {
  name: "output0",
  shape: [6, 8],
  values: [
    ...[11, 30, 0, 0, 0, 0, 0, 0],
    ...[11, 45, 0, 0, 0, 0, 0, 0],
    ...[18, 40, 1, 1, 1, 1, 1, 1],
    ...[18, 30, 1, 1, 1, 1, 1, 1],
    ...[0.9, 0, 0, 0, 0, 0, 0, 0],
    ...[0, 0.8, 0, 0, 0, 0, 0, 0],
  ],
};

/** The mean of each channel of images. */
export function classifierModel(input: string, side: number): Uint8Array {
  return onnxModel({
    inputs: [{ name: input, type: "float32", shape: ["rows", 3, side, side] }],
    outputs: [{ name: "means", type: "float32", shape: ["rows", 3] }],
    constants: [],
    nodes: [
      {
        op: "ReduceMean",
        inputs: [input],
        output: "means",
        attributes: { axes: [2, 3], keepdims: 0 },
      },
    ],
  });
}
