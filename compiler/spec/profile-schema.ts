/** States the structure of a latency profile. */
import { MAX_MS } from "stratagem-runtime/internal/bundle/limits";
import * as z from "zod";
import {
  amount,
  list,
  mapping,
  milliseconds,
  name,
  percentile,
  positiveNumber,
  ratio,
  realNumber,
  record,
  text,
} from "./fields.ts";

/** A key of a mapping. */
const key = (form: RegExp, expected: string) => {
  const error = () => expected;
  return z.string({ error }).regex(form, { error });
};

/** A layer may be nothing but a change of names. */
const LEAST_LAYER_MS = 1e-9;
const MAX_LAYERS = 100_000;
const MAX_NODES = 1_000_000;
const LEAST_SPEEDUP = 1e-6;
const MAX_SPEEDUP = 1e9;

const size = (what: string) => key(/^[1-9]\d{0,5}$/, `${what} (a whole number above 0)`);

const quantiles = mapping({
  p50: milliseconds(),
  p95: milliseconds(),
  p99: milliseconds(),
  mean: milliseconds(),
  samples: z.unknown().optional().describe("How many were measured, or the measurements"),
});

const row = z.union([milliseconds(), quantiles], {
  error: () => "a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean",
});

const rows = record(size("a batch size"), row, "a mapping from batch sizes to latencies");

const layers = mapping({
  ms: list(milliseconds(LEAST_LAYER_MS), "a list of times", MAX_LAYERS).describe(
    "Of one instance, layer by layer",
  ),
  overheadMs: amount(MAX_MS)
    .prefault(0)
    .describe("What a stage takes beyond its layers: the way to its place and back"),
  stages: record(
    key(
      /^(0|[1-9]\d{0,4})-[1-9]\d{0,4}$/,
      "layers such as 0-5, counted from 0 and without the last",
    ),
    quantiles,
    "a mapping from layers such as 0-5 to latencies",
  )
    .default({})
    .describe("Measured latency of one instance, by the layers of the stage"),
});

const variant = mapping({
  accuracy: ratio().optional().describe("Measured accuracy"),
  latencyMs: rows.optional().describe("Latency of a batch, by batch size"),
  byBucket: record(
    key(
      /^[1-9]\d{0,9}(x[1-9]\d{0,9}){0,15}$/,
      "sizes of the axes such as 160 or 48x160, each a whole number above 0",
    ),
    rows,
    "a mapping from sizes such as 160 or 48x160 to latencies by batch size",
  )
    .optional()
    .describe("Latency of a batch whose inputs have these sizes, by sizes and batch size"),
  fit: mapping({
    gamma: realNumber(),
    epsilon: realNumber(),
    delta: realNumber(),
    eta: realNumber(),
  })
    .optional()
    .describe("Latency in ms of batch b on c cores: gamma b/c + epsilon/c + delta b + eta"),
  byCores: record(
    size("a number of cores"),
    rows,
    "a mapping from cores to latencies by batch size",
  )
    .optional()
    .describe("Measured latency of a batch, by cores and batch size"),
  layers: layers.optional().describe("Times of the layers that a pipeline is cut of"),
  start: mapping({
    processMs: amount(MAX_MS).describe("Until the process of a new worker is there"),
    loadMs: amount(MAX_MS).describe("Until it has opened the model"),
    warmMs: amount(MAX_MS).describe("First runs of all batches"),
  })
    .optional()
    .describe("What a new worker takes until it can run the variant"),
  fallback: mapping({
    nodes: z.int().min(1).describe("How many there are"),
    of: z.int().min(1).describe("Nodes that ran"),
    ops: record(text("an operator"), z.int().min(1), "a mapping from operators to counts"),
    names: list(z.string(), "a list of names", MAX_NODES),
  })
    .optional()
    .describe("Nodes that run on the CPU though the device is a GPU"),
  speedups: record(
    key(/^([2-9]|[1-9]\d{1,3})$/, "a number of execution places (a whole number from 2 on)"),
    positiveNumber(LEAST_SPEEDUP, MAX_SPEEDUP),
    "a mapping from numbers of execution places to speed-ups",
  )
    .optional()
    .describe("How many times as fast a pipeline is, by its execution places, instead of layers"),
});

/** A latency profile as the profiler and users write it. */
export const profileSchema = mapping({
  format: z.literal("latency-profile/1", { error: () => '"latency-profile/1"' }),
  task: name().optional(),
  hardware: name().describe("What the latencies were measured on"),
  percentile: percentile().optional().describe("Percentile that bare numbers hold"),
  source: text("a line of text").optional().describe("Where the numbers come from"),
  variants: record(text("a name"), variant, "a mapping from variant names to measurements"),
});

export type ProfileSpec = z.output<typeof profileSchema>;
export type VariantMeasurements = ProfileSpec["variants"][string];
export type RowsSpec = NonNullable<VariantMeasurements["latencyMs"]>;
export type LayersSpec = NonNullable<VariantMeasurements["layers"]>;

/** JSON Schema (draft 2020-12) of latency profiles, for editors. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: "input" });
}
