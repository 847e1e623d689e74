/** Structure of a variant's tensor options. */
import { MAX_BATCH } from "stratagem-runtime/internal/bundle/limits";
import * as z from "zod";
import {
  choice,
  count,
  flag,
  list,
  mapping,
  realNumber,
  record,
  text,
} from "../document/fields.ts";

const MAX_SIZE = 2 ** 31 - 1;
/** Most sizes of one axis, and of the product of several axes. */
const MAX_SIZES = 64;

const axis = z.union(
  [
    z.literal("batch"),
    count(MAX_SIZE),
    list(count(MAX_SIZE), "a list of sizes", MAX_SIZES).min(1, {
      error: () => "a list of at least one size",
    }),
  ],
  { error: () => "batch, a size such as 320, or a list of sizes such as [160, 320, 640]" },
);

const tensorName = () => text("the name of a tensor");

const output = z.union(
  [
    tensorName(),
    mapping({
      of: tensorName().describe("Name of the output in the model"),
      as: choice("tensor", "softmax", "argmax", "top-k", "ctc", "ctc-confidence")
        .default("tensor")
        .describe("Value to return, along the last axis"),
      k: count(MAX_BATCH).optional().describe("Number of classes of top-k; 5 when left out"),
      labels: text("a file name")
        .optional()
        .describe("File with the name of a class on each line; for ctc without the blank"),
      space: flag().default(false).describe("Whether a space follows the labels, as in PaddleOCR"),
      blank: z
        .number({ error: () => "the number of a class" })
        .int({ error: () => "the number of a class" })
        .min(0, { error: () => "the number of a class" })
        .optional()
        .describe("Blank class of ctc; 0 when left out"),
    }),
  ],
  { error: () => "the name of an output, or a mapping with the key of" },
);

const size = count(MAX_SIZE);

const resize = mapping({
  size: list(size, "[height, width]", 2)
    .length(2, { error: () => "[height, width]" })
    .describe("Size of the input from clients and other tasks: [height, width]"),
  fit: choice("fill", "pad")
    .default("fill")
    .describe("fill stretches; pad keeps the ratio and pads at the bottom and on the right"),
  padding: realNumber().prefault(0).describe("Value of the padding"),
});

/** Keys of a variant that describe the use of its model's tensors. */
export const bindingFields = {
  axes: record(text("the name of an axis, or <tensor>.<position>"), axis, "a mapping from axes")
    .optional()
    .describe(
      "Use of each open axis: batch, a size, or a list of sizes; by its name in the " +
        "file, or as <tensor>.<position>, counted from 0",
    ),
  padding: realNumber().optional().describe("Value that rows are padded with; 0 when left out"),
  inputs: record(tensorName(), tensorName(), "a mapping from names to inputs of the model")
    .optional()
    .describe("Name of an input for clients and other tasks: its name in the model"),
  outputs: record(tensorName(), output, "a mapping from names to outputs of the model")
    .optional()
    .describe(
      "Returned outputs, by the name for clients and other tasks; all outputs when left out",
    ),
  constants: record(tensorName(), realNumber(), "a mapping from inputs of the model to numbers")
    .optional()
    .describe("Constant inputs of the model"),
  state: record(tensorName(), tensorName(), "a mapping from outputs of the model to inputs")
    .optional()
    .describe(
      "Outputs of the model that are inputs of the next request of a sequence, each with its " +
        "input; kept at the server, for ramsis with one variant",
    ),
  resize: record(tensorName(), resize, "a mapping from inputs to sizes")
    .optional()
    .describe("Inputs whose size differs from the model's"),
};
