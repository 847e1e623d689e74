/** States what a variant of a spec may say of its model's tensors. */
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
/** Of one axis; of several, their products have the same limit. */
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
      of: tensorName().describe("As the model calls it"),
      as: choice("tensor", "softmax", "argmax", "top-k", "ctc", "ctc-confidence")
        .default("tensor")
        .describe("What is told of it, along its last axis"),
      k: count(MAX_BATCH).optional().describe("How many classes top-k tells; 5 when left out"),
      labels: text("a file name")
        .optional()
        .describe("File with the name of a class on each line, of ctc without the blank"),
      space: flag()
        .default(false)
        .describe("Whether a space comes after the labels, as PaddleOCR has it"),
      blank: z
        .number({ error: () => "the number of a class" })
        .int({ error: () => "the number of a class" })
        .min(0, { error: () => "the number of a class" })
        .optional()
        .describe("The class of ctc that stands for none; 0 when left out"),
    }),
  ],
  { error: () => "the name of an output, or a mapping with the key of" },
);

const size = count(MAX_SIZE);

const resize = mapping({
  size: list(size, "[height, width]", 2)
    .length(2, { error: () => "[height, width]" })
    .describe("What clients and other tasks send: [height, width]"),
  fit: choice("fill", "pad")
    .default("fill")
    .describe("Stretch, or keep the ratio and fill up at the bottom and on the right"),
  padding: realNumber().prefault(0).describe("What is filled in"),
});

/** Keys of a variant that say how its model's tensors are used. */
export const bindingFields = {
  axes: record(text("the name of an axis, or <tensor>.<position>"), axis, "a mapping from axes")
    .optional()
    .describe(
      "What each open axis is: batch, a size, or a list of sizes; by the name that it has in the " +
        "file, or as <tensor>.<position>, counted from 0",
    ),
  padding: realNumber().optional().describe("What rows are filled with up to their size; 0"),
  inputs: record(tensorName(), tensorName(), "a mapping from names to inputs of the model")
    .optional()
    .describe("What clients and other tasks call an input: its name in the model"),
  outputs: record(tensorName(), output, "a mapping from names to outputs of the model")
    .optional()
    .describe("What is told, by the name that clients and other tasks use; all outputs otherwise"),
  constants: record(tensorName(), realNumber(), "a mapping from inputs of the model to numbers")
    .optional()
    .describe("Inputs of the model that are always the same"),
  state: record(tensorName(), tensorName(), "a mapping from outputs of the model to inputs")
    .optional()
    .describe(
      "Outputs of the model that it takes again with the next request of a sequence, each by an " +
        "input; kept at the server, for ramsis with one variant",
    ),
  resize: record(tensorName(), resize, "a mapping from inputs to sizes")
    .optional()
    .describe("Inputs that come in another size than the model takes"),
};
