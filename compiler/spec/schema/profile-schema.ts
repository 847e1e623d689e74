/** Structure of a latency profile. */

import { MAX_CONTENTION, MAX_MS, MAX_STRETCH } from "stratagem-runtime/internal/bundle/limits";
import { PROVIDERS } from "stratagem-runtime/internal/bundle/schema";
import * as z from "zod";
import type { LatencyQuantiles } from "../application.ts";
import {
  amount,
  choice,
  count,
  flag,
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
} from "../document/fields.ts";

/** Builds the key of a mapping. */
const key = (form: RegExp, expected: string) => {
  const error = () => expected;
  return z.string({ error }).regex(form, { error });
};

/** A layer may only rename tensors. */
const LEAST_LAYER_MS = 1e-9;
const MAX_LAYERS = 100_000;
const MAX_NODES = 1_000_000;
const MAX_PROCESSORS = 65_536;
const MAX_STALLS = 1000;
const MAX_REQUEST_BYTES = 2 ** 40;
const LEAST_SPEEDUP = 1e-6;
const MAX_SPEEDUP = 1e9;

const size = (what: string) => key(/^[1-9]\d{0,5}$/, `${what} (a whole number above 0)`);

const quantiles = mapping({
  p50: milliseconds(),
  p95: milliseconds().optional().describe("Left out by fewer than 20 runs; max then counts"),
  p99: milliseconds().optional().describe("Left out by fewer than 100 runs; max then counts"),
  max: milliseconds().optional().describe("Longest run"),
  mean: milliseconds(),
  samples: z.unknown().optional().describe("Number of measurements, or the measurements"),
});

const row = z.union([milliseconds(), quantiles], {
  error: () => "a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean",
});

const rows = record(size("a batch size"), row, "a mapping from batch sizes to latencies");

const layers = mapping({
  ms: list(milliseconds(LEAST_LAYER_MS), "a list of times", MAX_LAYERS).describe(
    "Times of one instance, layer by layer",
  ),
  overheadMs: amount(MAX_MS)
    .prefault(0)
    .describe("Time of a stage beyond its layers: transfer to its place and back"),
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

/** Allows 0 for times below the clock's resolution. */
const span = () => amount(MAX_MS);

const start = mapping({
  processMs: span().describe("Time of a new worker until it can load a model"),
  loadMs: span().describe("Time to load the model"),
  warmMs: span().describe("Time of the first runs of every batch"),
});

const fallback = mapping({
  nodes: count(MAX_NODES).describe("Nodes that run on CPUs instead"),
  of: count(MAX_NODES).describe("All nodes"),
  ops: record(
    text("an operator"),
    count(MAX_NODES),
    "a mapping from operators to numbers of nodes",
  ).describe("Number of these nodes by operator"),
  names: list(text("the name of a node"), "a list of names", MAX_NODES).describe("The nodes"),
});

/** Same form as in bundles; editors do not support Unicode character classes. */
const printable = (expected: string) =>
  key(/^[ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\uffff]{1,200}$/, expected);

const device = mapping({
  provider: choice(...PROVIDERS).describe("Execution provider of ONNX Runtime"),
  name: printable("the name of a device, of up to 200 characters").describe(
    "Name of the device from its driver; for CPUs the processor model",
  ),
  driver: printable("the version of a driver, of up to 200 characters, or null")
    .nullable()
    .describe("Version of its driver; null if there is no driver, or it is unknown"),
  options: record(
    text("the name of an option"),
    z.union([text("a text"), flag(), list(text("a text"), "a list of texts")], {
      error: () => "a text, true, false or a list of texts",
    }),
    "a mapping from options to values",
  )
    .optional()
    .describe("Options of the provider, with ONNX Runtime's names"),
}).describe("Measured device, if a tool wrote it");

const stallTimes = z.union(
  [
    mapping({ p50: span(), p95: span(), p99: span(), mean: span() }).describe("Quantiles, in ms"),
    span(),
  ],
  { error: () => "a time of at least 0 in ms, or a mapping with p50, p95, p99 and mean" },
);

const spread = stallTimes.optional();

const serving = mapping({
  processors: count(MAX_PROCESSORS).describe("Processors of the serving machine"),
  requestBytes: amount(MAX_REQUEST_BYTES).prefault(0).describe("Length of the measured request"),
  requestMs: spread.describe("Time of the server's process per request, until its decision"),
  batchMs: spread.describe("Time of the server's process per batch, there and back"),
  answerMs: spread.describe("Time of the server's process per answer"),
  perMiBMs: span().prefault(0).describe("Time of the server's process per MiB beyond requestBytes"),
  wakeMs: spread.describe("Additional time of a process after sleeping"),
  wireMs: spread.describe("Time in client and network, both ways together"),
  contention: list(amount(MAX_STRETCH), "a list of factors", MAX_CONTENTION)
    .optional()
    .describe("Service times with 1, 2, … workers busy at once, relative to one; the first is 1"),
  stalls: mapping({
    perSecond: amount(MAX_STALLS).describe("Stalls per second of processor work"),
    ms: stallTimes.describe("Duration of a stall"),
  })
    .optional()
    .describe("Periods in which the host takes a processor away"),
  slow: z.unknown().optional().describe("Of earlier versions; not used"),
  stealShare: ratio()
    .optional()
    .describe("Share of processor time that the machine lost during the measurement"),
  generatorShare: amount(MAX_PROCESSORS)
    .optional()
    .describe("Processors that the client of the measurement used"),
}).describe("Serving overhead beyond the models; missing parts take no time");

const variant = mapping({
  accuracy: ratio().optional().describe("Measured accuracy"),
  precision: text("an element type such as float32")
    .optional()
    .describe("Element type of most weights; int8 if they are quantized"),
  modelSha256: key(
    /^[0-9a-f]{64}(\+[0-9a-f]{64})*$/,
    "a SHA-256 in lower-case hexadecimal, those of several files joined by +",
  )
    .optional()
    .describe("SHA-256 of the measured file, as in bundles; those of several files joined by +"),
  start: start.optional().describe("Start times of a worker for it, in ms"),
  fallback: fallback.optional().describe("Nodes that the device's provider left to CPUs"),
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
  layers: layers.optional().describe("Times of the layers of a pipeline"),
  speedups: record(
    key(/^([2-9]|[1-9]\d{1,3})$/, "a number of execution places (a whole number from 2 on)"),
    positiveNumber(LEAST_SPEEDUP, MAX_SPEEDUP),
    "a mapping from numbers of execution places to speed-ups",
  )
    .optional()
    .describe("Speed-up of a pipeline by its execution places, instead of layers"),
});

/** Latency profile as the profiler and users write it. */
export const profileSchema = mapping({
  format: z.literal("latency-profile/1", { error: () => '"latency-profile/1"' }),
  task: name().optional(),
  hardware: name().describe("Hardware that the latencies were measured on"),
  device: device.optional(),
  percentile: percentile().optional().describe("Percentile of plain numbers"),
  includesWay: z
    .literal(true, { error: () => "true, or nothing" })
    .optional()
    .describe("True if its times include the network to workers on other machines"),
  source: text("a line of text").optional().describe("Origin of the numbers"),
  serving: serving.optional(),
  variants: record(text("a name"), variant, "a mapping from variant names to measurements"),
});

export type ProfileSpec = z.output<typeof profileSchema>;
export type VariantMeasurements = ProfileSpec["variants"][string];
export type RowsSpec = NonNullable<VariantMeasurements["latencyMs"]>;
export type ServingSpec = NonNullable<ProfileSpec["serving"]>;
type QuantilesSpec = z.output<typeof quantiles>;
export type LayersSpec = NonNullable<VariantMeasurements["layers"]>;

/** Returns the quantiles of a row; those of too few runs are the longest run. */
export function quantilesOf(row: QuantilesSpec): LatencyQuantiles {
  const { p50, p95, p99, max, mean } = row;
  const longest = max ?? p99 ?? p95 ?? p50;
  return { p50, p95: p95 ?? longest, p99: p99 ?? longest, mean };
}

/** JSON Schema (draft 2020-12) of latency profiles, for editors. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: "input" });
}
