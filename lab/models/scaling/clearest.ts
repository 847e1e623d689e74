/** A detector that gives each scene one crop, of its warmest peak, in place of all. */
import { extendedModel, type GraphConstant, type GraphNode } from "../onnx-graph.ts";

/** Tensors inside every detector of models/scenes, [rows, 1, 32, 32]: the warmth of each cell. */
const WARMTH = "/Slice_output_0";
/** Whether a cell is a peak, and that as a number. */
const IS_PEAK = "/And_output_0";
const PEAKS = "/Cast_output_0";
/** Below any warmth, which is a logit. */
const COLD = -1e30;

const NODES: readonly GraphNode[] = [
  // The cell of each scene's warmest peak.
  node("Where", [IS_PEAK, WARMTH, "cold"], "peak_warmth"),
  node("Flatten", ["peak_warmth"], "warmth_by_cell", 1),
  node("ArgMax", ["warmth_by_cell"], "warmest_cell", 1),
  // Crops come scene by scene and cell by cell: as many come before that of a peak as there are
  // peaks before it.
  node("Reshape", [PEAKS, "one_axis"], "peaks_in_order"),
  node("CumSum", ["peaks_in_order", "first_axis"], "crops_so_far"),
  node("Flatten", [PEAKS], "peaks_by_cell", 1),
  node("Shape", ["peaks_by_cell"], "cells_shape"),
  node("Reshape", ["crops_so_far", "cells_shape"], "crops_by_cell"),
  node("GatherElements", ["crops_by_cell", "warmest_cell"], "crop_number_column", 1),
  node("Squeeze", ["crop_number_column", "second_axis"], "crop_number"),
  // Crop 0 is a blank one, for scenes without a peak.
  node("Min", ["crop_count", "one"], "found"),
  node("Mul", ["crop_number", "found"], "chosen"),
  node("Concat", ["blank_crop", "crops"], "blank_and_crops", 0),
  node("Gather", ["blank_and_crops", "chosen"], "letter", 0),
  node("Concat", ["blank_box", "boxes"], "blank_and_boxes", 0),
  node("Gather", ["blank_and_boxes", "chosen"], "place", 0),
];

/**
 * The model as it is, and nodes behind its outputs, which are outputs no more. It gives `found`
 * int64 [rows], 1 where there is a peak and 0 elsewhere; `letter` uint8 [rows, 1, side, side], the
 * crop of the warmest peak, the first of equals, all 0 where there is none; and `place` float32
 * [rows, 3], x and y of its centre and its score, or zeros. @param model ONNX, a detector of
 * models/scenes. @param side of a crop in pixels.
 */
export function clearestOf(model: Uint8Array, side: number): Uint8Array<ArrayBuffer> {
  const blank = new Uint8Array(side * side);
  const constants: readonly GraphConstant[] = [
    { name: "cold", type: "float32", shape: [], values: [COLD] },
    { name: "one_axis", type: "int64", shape: [1], values: [-1] },
    { name: "first_axis", type: "int64", shape: [], values: [0] },
    { name: "second_axis", type: "int64", shape: [1], values: [1] },
    { name: "one", type: "int64", shape: [], values: [1] },
    { name: "blank_crop", type: "uint8", shape: [1, 1, side, side], values: blank },
    { name: "blank_box", type: "float32", shape: [1, 3], values: [0, 0, 0] },
  ];
  const outputs = [
    { name: "found", type: "int64", shape: ["rows"] },
    { name: "letter", type: "uint8", shape: ["rows", 1, side, side] },
    { name: "place", type: "float32", shape: ["rows", 3] },
  ] as const;
  return extendedModel(model, { nodes: NODES, constants, outputs }, false);
}

function node(op: string, inputs: readonly string[], output: string, axis?: number): GraphNode {
  return { op, inputs, output, ...(axis === undefined ? {} : { attributes: { axis } }) };
}
