/** Fields that bundles of several methods share: ranges, and records of the same form. */

import { device, measuredOn, workerUrl } from "./device-fields.ts";
import {
  boolean,
  fileName,
  integerIn,
  listOf,
  named,
  numberBetween,
  numberIn,
  oneOf,
  or,
  orNull,
  relativePath,
  type Shape,
  sha256,
  text,
  textOf,
} from "./fields.ts";
import {
  MAX_BATCH,
  MAX_CAPACITY_QPS,
  MAX_CORES,
  MAX_FIGURE,
  MAX_HOP_MS,
  MAX_LEVELS,
  MAX_MS,
  MAX_OPTIONS_LENGTH,
  MAX_PARTS,
  MAX_PRICE,
  MAX_QPS,
  MAX_SLOS,
  MAX_SPAN_MS,
  MAX_VARIATION,
  MAX_WAITING,
  MAX_WORKERS,
  MIN_CAPACITY_QPS,
  MIN_MS,
  MIN_QPS,
  MIN_SLOS,
  MIN_VARIATION,
  PACKAGE_SPECIFIER,
  SERVER_URL,
} from "./limits.ts";
import { buckets, modelAdapter, withSoundAdapter } from "./model-fields.ts";
import { type Field, type Fields, optional, record, tagged } from "./record.ts";
import { refuse } from "./refuse.ts";
import type {
  ArrivalModel,
  ClassExpected,
  Cluster,
  DecisionSpace,
  ExpectedLatency,
  ExpectedTimes,
  InferlineLevel,
  InputDigest,
  ModelFile,
  ModelPart,
  ModuleReference,
  PaceFigures,
  PacePromises,
  PipelineExpected,
  Pool,
  ProfileReference,
  Provenance,
  RemoteReference,
  ServiceTimeQuantiles,
  ServiceTimes,
  Slo,
  StatePair,
  Table,
  TensorInfo,
} from "./schema.ts";
import { servingPath } from "./serving-fields.ts";
import { numberTable, table } from "./tables.ts";

/** Largest pace. */
export const MAX_PACE = 1000;
const MAX_INPUTS = 10_000;
const MAX_TENSORS = 256;
const MAX_RANK = 16;

export const milliseconds = named("a time", numberIn(MIN_MS, MAX_MS));
export const millisecondsOr0 = named("0 or a time", or(0, milliseconds));
/** Computed from times that a spec or a profile states. */
export const span = numberIn(MIN_MS, MAX_SPAN_MS);
const waitOr0 = numberIn(0, MAX_SPAN_MS);
export const rate = named("a rate", numberIn(MIN_QPS, MAX_QPS));
/** Throughput of workers, which may exceed any load. */
export const throughput = named("a throughput", numberIn(MIN_CAPACITY_QPS, MAX_CAPACITY_QPS));
export const throughputOr0 = named("0 or a throughput", numberIn(0, MAX_CAPACITY_QPS));
export const ratio = named("a ratio", numberIn(0, 1));
const percentile = numberBetween(0, 100);
export const workerCount = integerIn(1, MAX_WORKERS);
export const MAX_COUNT = 2 ** 32 - 1;
export const count = integerIn(0, MAX_COUNT);
export const bigCount = integerIn(0, Number.MAX_SAFE_INTEGER);
export const batchSize = integerIn(1, MAX_BATCH);
export const notNegative = numberIn(0, MAX_FIGURE);

const aboveZeroBelowOne = numberBetween(0, 1);
/** Includes 0, excludes 1. */
export const properRatio: Shape<number> = {
  words: "a ratio below 1",
  range: [0, aboveZeroBelowOne.range?.[1] ?? 1],
  read(value, path) {
    return (value === 0 ? ratio : aboveZeroBelowOne).read(value, path);
  },
};

type LevelHead = Pick<InferlineLevel, "loadQps" | "feasible" | "capacityQps">;

/** @param apart a number that is allowed besides times. */
export function timesOf(axes: readonly string[], apart: number | null = null): Shape<Table> {
  return numberTable(axes, [MIN_MS, MAX_SPAN_MS], apart);
}

export const sloFields: Fields<Omit<Slo, "classes">> = {
  latencyMs: [milliseconds, "Latency allowed for a query, from arrival to answer."],
  maxViolationRate: [
    orNull(ratio),
    "Share of queries that may take longer; nil without a ceiling.",
  ],
  percentile: [
    percentile,
    "Quantile of the latency that must meet `latencyMs` if there is no ceiling.",
  ],
  p50Ms: optional(milliseconds, "Limit of the median latency."),
  p95Ms: optional(milliseconds, "Limit of the 95th percentile of the latency."),
};

const variation = numberIn(MIN_VARIATION, MAX_VARIATION);

const arrivalModel = tagged<"process", ArrivalModel>("process", {
  poisson: record<Extract<ArrivalModel, { process: "poisson" }>>({
    process: [oneOf(["poisson"]), "Times between arrivals are exponential."],
  }),
  gamma: record<Extract<ArrivalModel, { process: "gamma" }>>({
    process: [oneOf(["gamma"]), "Times between arrivals are gamma-distributed."],
    cv2: [variation, "Their squared coefficient of variation."],
  }),
  trace: record<Extract<ArrivalModel, { process: "trace" }>>({
    process: [oneOf(["trace"]), "Arrivals are those of a recorded trace."],
    file: [relativePath, "The trace, from the folder of the application specification."],
    dispersion: [variation, "Variance over mean of the queries that come within the SLO."],
    spreadMs: optional(
      milliseconds,
      "Unit of its times, over which equal ones were spread; as recorded by default.",
    ),
  }),
});

const pool = record<Pool>({
  name: [text, "The pool's name; plans refer to its index."],
  hardware: [orNull(text), "Kind of its workers; nil if not stated."],
  workers: [workerCount, "Number of workers."],
  cores: [orNull(integerIn(1, MAX_CORES)), "Cores of each worker; nil if not stated."],
  pricePerHour: [orNull(numberIn(0, MAX_PRICE)), "Price of a worker; nil if not stated."],
  device: optional(
    device,
    "Device of its workers, such as webgpu or cuda:0,1; processors by default.",
  ),
  measuredOn: optional(
    measuredOn,
    "Hardware that its profiles were measured on; left out if not recorded.",
  ),
  urls: optional(
    listOf([1, MAX_WORKERS], workerUrl),
    "URLs of its workers, v2 servers; left out for local processes.",
  ),
});

const tensor = record<TensorInfo>({
  name: [text, "Unique in its array."],
  dtype: [text, "The type of its elements, as ONNX Runtime names it."],
  shape: [
    listOf([0, MAX_RANK], or(-1, integerIn(1, 2 ** 31))),
    "Its dimensions, −1 for a dynamic one.",
  ],
});
const tensors = listOf([1, MAX_TENSORS], tensor);

const optionsJson: Shape<string> = {
  words: "JSON",
  read(value, path) {
    const allowed = `JSON of at most ${MAX_OPTIONS_LENGTH} characters`;
    if (typeof value !== "string" || value.length > MAX_OPTIONS_LENGTH) {
      return refuse(path, value, allowed);
    }
    try {
      JSON.parse(value);
    } catch {
      refuse(path, value, allowed);
    }
    return value;
  },
};

const moduleReference = record<ModuleReference>({
  specifier: [
    orNull(textOf(PACKAGE_SPECIFIER, "what a package has, such as package/entry", "a specifier")),
    "Name for `import` of a package entry; nil for a file of the models folder.",
  ],
  options: [optionsJson, "Options of the module; keys in ascending order."],
});

const remoteReference = record<RemoteReference>({
  url: [textOf(SERVER_URL, "the URL of a server", "a URL"), "URL of a v2 server."],
  model: [text, "Name on that server."],
});

const statePair = record<StatePair>({
  input: [text, "Input tensor."],
  output: [text, "Output tensor with its next value; same type and row shape."],
});

const modelPart = record<ModelPart>({
  file: [fileName, "File in the models folder."],
  sha256: [sha256, "Digest of the file."],
  inputs: [tensors, "Its inputs: outputs of earlier files, or inputs of the model."],
  outputs: [tensors, "Its outputs; those of the last file are the outputs of the model."],
});

export const modelFile = withSoundAdapter(
  record<ModelFile>({
    file: [fileName, "File in the models folder."],
    sha256: [sha256, "Digest of the file."],
    inputs: [tensors, "Inputs of the model; axis 0 is the rows of a batch."],
    outputs: [tensors, "Outputs of the model."],
    adapter: optional(
      modelAdapter,
      "Maps the tensors of the file to those; left out if they are the same.",
    ),
    buckets: optional(buckets, "Axes with several sizes."),
    parts: optional(
      listOf([1, MAX_PARTS], modelPart),
      "ONNX files that run after the first in the same worker, on the same rows: each takes " +
        "outputs of earlier files by name. Left out for a single file; excludes `adapter`, " +
        "`buckets`, `module` and `remote`.",
    ),
    module: optional(moduleReference, "An ES module whose entry is the file."),
    remote: optional(
      remoteReference,
      "A model that another server runs: it has no file, and the digest is that of its " +
        "tensors.",
    ),
    state: optional(
      listOf([1, MAX_TENSORS], statePair),
      "Tensors that the server keeps between requests of a sequence, and that clients neither " +
        "send nor get: each output is an input of the next request. Only for ramsis, and only if " +
        "the task has one variant.",
    ),
  }),
);

export const profileReference = record<ProfileReference>({
  file: [fileName, "The profile."],
  variant: [text, "Name of the variant in that file."],
  hardware: [text, "Hardware that the variant was measured on."],
  sha256: [sha256, "Digest of the file."],
});

export const variantName: Field<string> = [text, "Unique in the task."];
export const accuracy: Field<number> = [ratio, "Accuracy as measured."];
export const model: Field<ModelFile | null> = [
  orNull(modelFile),
  "Model file; nil if the bundle can only be simulated.",
];

/** Batch service times of each variant. */
const times = timesOf(["variantCount", "maxBatch"]);

const quantiles = record<ServiceTimeQuantiles>({
  p50Ms: [times, "Medians."],
  p95Ms: [times, "95th percentiles."],
  p99Ms: [times, "99th percentiles."],
  meanMs: [times, "Means."],
});

export const serviceTimes = record<ServiceTimes>({
  percentile: [
    orNull(percentile),
    "Quantile of the measured times that `decisionMs` holds; nil if the profiles do not say.",
  ],
  decisionMs: [times, "Times that the policy was computed with; they do not decrease along a row."],
  quantiles: [orNull(quantiles), "The measured distribution; nil unless every variant has one."],
});

/** Axes of tables of actions. */
export const axisFields: Fields<Omit<DecisionSpace, "actions">> = {
  queued: optional(
    table("float64", ["rowCount"]),
    "Smallest number of queries of each table row; a row covers up to the next row's: " +
      "whole numbers, strictly ascending from 1 to `maxQueue + 1`. If left out, every " +
      "number of queries has a row, row `queued − 1`.",
  ),
  maxQueue: [integerIn(1, MAX_WAITING), "A queue holds one query more than this."],
  slackMs: [
    table("float64", ["slackCount"]),
    "Times left until the earliest deadline, strictly ascending from 0 to the SLO.",
  ],
};

export const decisionSpace = record<DecisionSpace>({
  ...axisFields,
  actions: [
    table("uint16", ["actionCount", "2"]),
    "Variant index and batch size of each action, at most 65,533 actions; the batch size is from " +
      "1 to maxBatch.",
  ],
});

/** Action in each state. */
export const actionTable = table("uint16", ["rowCount", "slackCount"]);

/**
 * First fields of the levels of all methods.
 * @param feasible its meaning. @param capacityQps its meaning. @param capacity its range.
 */
export function levelFields(
  feasible: string,
  capacityQps: string,
  capacity = throughputOr0,
): Fields<LevelHead> {
  return {
    loadQps: [rate, "Queries (in a pipeline requests) per second of the cluster."],
    feasible: [boolean, feasible],
    capacityQps: [capacity, capacityQps],
  };
}

export const pace: Field<number> = [
  numberBetween(1, MAX_PACE),
  "Service times over the profile's.",
];

/** Levels by ascending load. */
export function levelsOf<Level>(level: Shape<Level>): Shape<readonly Level[]> {
  return listOf([1, MAX_LEVELS], level);
}

/** Figures weighted by queries. */
export const accuracyFields: Fields<ClassExpected> = {
  accuracyPerSatisfied: [ratio, "Mean accuracy of queries answered in time."],
  accuracyPerQuery: [ratio, "Mean accuracy of all queries; late ones count 0."],
  violationRate: [ratio, "Share of late queries."],
};

const expectedLatency = record<ExpectedLatency>({
  p50: [waitOr0, "Median."],
  p95: optional(waitOr0, "95th percentile; only for ramsis."),
  p99: [waitOr0, "99th percentile."],
  max: [waitOr0, "The longest."],
});

/** Times that a level promises. */
export const expectedTimes: Fields<ExpectedTimes> = {
  latencyMs: optional(
    expectedLatency,
    "Latencies at the load of the level; left out before edition 1.8.",
  ),
  queueMs: optional(
    expectedLatency,
    "Times from when a request has been read until its first batch begins; left out before " +
      "edition 1.12.",
  ),
};

/** Simulated latencies of queries. */
export const latencyFields: Fields<
  Pick<PipelineExpected, "latencyMsP50" | "latencyMsP99" | keyof ExpectedTimes>
> = {
  latencyMsP50: [waitOr0, "Median latency."],
  latencyMsP99: [waitOr0, "99th percentile."],
  ...expectedTimes,
};

const paceFigures = record<PaceFigures>({
  pace: [numberBetween(0, MAX_PACE), "Service times over the profile's."],
  accuracyPerQuery: [ratio, "Mean accuracy of all queries; late ones count 0."],
  violationRate: [ratio, "Share of queries late or dropped."],
  p50: [waitOr0, "Median latency of served queries."],
  p99: [waitOr0, "Its 99th percentile."],
  queueMs: expectedTimes.queueMs,
});

/** Fields of the promises on slower machines. */
export const paceFields: Fields<PacePromises> = {
  headroom: optional(
    numberIn(0, MAX_PACE),
    "Highest constant pace at which the level keeps its ceiling, simulated.",
  ),
  byPace: optional(listOf([0, 64], paceFigures), "Figures at other paces, ascending."),
};

export const seed: Field<number> = [count, "Seed of the simulation."];
export const durationMs: Field<number> = [
  numberIn(MIN_MS, MAX_SPAN_MS),
  "Length of the simulation.",
];
/** Source of the start time of a worker. @param time the field with that time. */
export function startFrom(time: string) {
  return optional(
    oneOf<"profiles">(["profiles"]),
    `Source of \`${time}\`: measured in the profiles; left out if it was stated.`,
  );
}
export const solverName: Field<string> = [text, "The solver's name."];

/** Multiple of the SLO; null for never. */
export const slosOrNever = orNull(numberIn(MIN_SLOS, MAX_SLOS));

const input = record<InputDigest>({
  path: [relativePath, "A file, from the folder of the application specification."],
  sha256: [sha256, "Digest of the file."],
});

const compiled = record<Provenance>({
  compiler: [text, "Name and version."],
  inputs: [listOf([0, MAX_INPUTS], input), "Files that it read."],
});

// Fields of the bundles themselves.

export const application: Field<string> = [text, "Name of the application."];
export const METHOD = "Method.";
export const slo: Field<Slo> = [
  { ...record<Omit<Slo, "classes">>(sloFields) },
  "Objective of the policy.",
];
export const arrivals: Field<ArrivalModel> = [arrivalModel, "Arrivals of the policy."];
export const provenance: Field<Provenance> = [compiled, "Inputs and compiler."];

/** @param maxPools the largest number of pools that the method supports. */
export function clusterOf(maxPools: number): Field<Cluster> {
  const cluster = record<Cluster>({
    communicationLatencyMs: [numberIn(0, MAX_HOP_MS), "Time per hop."],
    pools: [listOf([1, maxPools], pool), "Pools of workers."],
    serving: optional(servingPath, "Serving path; left out if latencies are of models alone."),
  });
  const poolCount = maxPools === 1 ? "one pool" : `1 to ${maxPools} pools`;
  return [cluster, `The workers: ${poolCount}.`];
}
