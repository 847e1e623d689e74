import { bytes, fieldsOf, integer, string } from "../onnx-protobuf.js";

/** Field numbers and codes of onnx.proto. */
const MODEL_GRAPH = 7;
const GRAPH_NODE = 1;
const GRAPH_INITIALIZER = 5;
const GRAPH_OUTPUT = 12;
const INTEGER = 2;
const FLOAT = 1;
const UINT8 = 2;
const INT64 = 7;

/** Tensors inside every detector of models/scenes, [rows, 1, 32, 32]: the warmth of each cell, whether it is a peak, and that as a number. */
const WARMTH = "/Slice_output_0";
const IS_PEAK = "/And_output_0";
const PEAKS = "/Cast_output_0";
/** Below any warmth, which is a logit. */
const COLD = -1e30;

/**
 * A detector that gives each scene one crop, of its warmest peak, in place of all: the model as it is, and nodes behind its outputs, which are
 * outputs no more. It gives `found` int64 [rows], 1 where there is a peak and 0 elsewhere; `letter` uint8 [rows, 1, side, side], the crop of the
 * warmest peak, the first of equals, all 0 where there is none; and `place` float32 [rows, 3], x and y of its centre and its score, or zeros.
 * @param {Uint8Array} model ONNX, operator set 13, a detector of models/scenes.
 * @param {number} side of a crop in pixels.
 * @returns {Uint8Array}
 */
export function clearestOf(model, side) {
  const parts = fieldsOf(model).map(({ number, value, bytes: written }) =>
    number === MODEL_GRAPH ? bytes(MODEL_GRAPH, extended(value, side)) : written,
  );
  return Uint8Array.from(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
}

/** Fields of one kind may come in any order among the others, so what is added comes last. */
function extended(graph, side) {
  const kept = fieldsOf(graph)
    .filter(({ number }) => number !== GRAPH_OUTPUT)
    .flatMap((field) => [...field.bytes]);
  return [
    ...kept,
    // The cell of each scene's warmest peak.
    ...node("Where", [IS_PEAK, WARMTH, "cold"], "peak_warmth"),
    ...node("Flatten", ["peak_warmth"], "warmth_by_cell", [["axis", 1]]),
    ...node("ArgMax", ["warmth_by_cell"], "warmest_cell", [["axis", 1]]),
    // Crops come scene by scene and cell by cell: that of a peak has as many before it as there are peaks before it.
    ...node("Reshape", [PEAKS, "one_axis"], "peaks_in_order"),
    ...node("CumSum", ["peaks_in_order", "first_axis"], "crops_so_far"),
    ...node("Flatten", [PEAKS], "peaks_by_cell", [["axis", 1]]),
    ...node("Shape", ["peaks_by_cell"], "cells_shape"),
    ...node("Reshape", ["crops_so_far", "cells_shape"], "crops_by_cell"),
    ...node("GatherElements", ["crops_by_cell", "warmest_cell"], "crop_number_column", [
      ["axis", 1],
    ]),
    ...node("Squeeze", ["crop_number_column", "second_axis"], "crop_number"),
    // Crop 0 is a blank one, for scenes without a peak.
    ...node("Min", ["crop_count", "one"], "found"),
    ...node("Mul", ["crop_number", "found"], "chosen"),
    ...node("Concat", ["blank_crop", "crops"], "blank_and_crops", [["axis", 0]]),
    ...node("Gather", ["blank_and_crops", "chosen"], "letter", [["axis", 0]]),
    ...node("Concat", ["blank_box", "boxes"], "blank_and_boxes", [["axis", 0]]),
    ...node("Gather", ["blank_and_boxes", "chosen"], "place", [["axis", 0]]),
    ...constant("cold", FLOAT, [], new Uint8Array(Float32Array.of(COLD).buffer)),
    ...constant("one_axis", INT64, [1], int64s(-1)),
    ...constant("first_axis", INT64, [], int64s(0)),
    ...constant("second_axis", INT64, [1], int64s(1)),
    ...constant("one", INT64, [], int64s(1)),
    ...constant("blank_crop", UINT8, [1, 1, side, side], new Uint8Array(side * side)),
    ...constant("blank_box", FLOAT, [1, 3], new Uint8Array(12)),
    ...bytes(GRAPH_OUTPUT, tensor("found", INT64, ["rows"])),
    ...bytes(GRAPH_OUTPUT, tensor("letter", UINT8, ["rows", 1, side, side])),
    ...bytes(GRAPH_OUTPUT, tensor("place", FLOAT, ["rows", 3])),
  ];
}

function node(operator, inputs, output, attributes = []) {
  return bytes(GRAPH_NODE, [
    ...inputs.flatMap((input) => string(1, input)),
    ...string(2, output),
    ...string(4, operator),
    ...attributes.flatMap(([name, value]) =>
      bytes(5, [...string(1, name), ...integer(3, value), ...integer(20, INTEGER)]),
    ),
  ]);
}

function constant(name, type, shape, data) {
  const dimensions = shape.flatMap((size) => integer(1, size));
  return bytes(GRAPH_INITIALIZER, [
    ...dimensions,
    ...integer(2, type),
    ...string(8, name),
    ...bytes(9, data),
  ]);
}

function int64s(value) {
  return new Uint8Array(BigInt64Array.of(BigInt(value)).buffer);
}

function tensor(name, type, shape) {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === "number" ? integer(1, size) : string(2, size)),
  );
  return [
    ...string(1, name),
    ...bytes(2, bytes(1, [...integer(1, type), ...bytes(2, dimensions)])),
  ];
}
