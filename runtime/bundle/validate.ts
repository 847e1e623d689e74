/** From an unknown value to a Bundle: structure field by field here, agreement between fields in `semantics.ts`. Source: docs/bundle-format.md. */
import {
  arrayOf,
  boolean,
  fileName,
  integerIn,
  nullOr,
  numberBetween,
  numberIn,
  objectOf,
  oneOf,
  positive,
  relativePath,
  sha256,
  tableOf,
  text,
} from "./fields.ts";
import type {
  ArrivalModel,
  BatchDistribution,
  Bundle,
  Cluster,
  DecisionSpace,
  Discretization,
  Expected,
  InputDigest,
  Level,
  Mixture,
  ModelFile,
  Pool,
  ProfileReference,
  Provenance,
  RamsisOptions,
  ServiceTimeQuantiles,
  ServiceTimes,
  Slo,
  SolveReport,
  Table,
  Task,
  TensorInfo,
  Variant,
} from "./schema.ts";
import { checkSemantics } from "./semantics.ts";

/** Eleven days. Sums of times and products with rates stay far from the limits of a float64. */
const MAX_MS = 1e9;
const MAX_QPS = 1e12;
const MAX_PRICE = 1e9;
const MAX_WORKERS = 1_000_000;
const MAX_VARIANTS = 1000;
const MAX_LEVELS = 10_000;
const MAX_INPUTS = 10_000;
const MAX_TENSORS = 256;
const MAX_RANK = 16;
/** Row indices of an action table fit a uint16, as batch sizes must. */
const MAX_QUEUE = 65_534;

/**
 * Checks a value and everything in it, and returns it frozen (typed arrays apart, which cannot be). What it returns cannot make the runtime throw
 * or read out of range.
 *
 * @param value a Bundle in memory, or the decoded payload, where the data of a table is bytes.
 * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
 */
export function validateBundle(value: unknown): Bundle {
  const bundle = bundleOf(value);
  checkSemantics(bundle);
  return bundle;
}

function bundleOf(value: unknown): Bundle {
  const fields = objectOf(value, "", [
    "application",
    "arrivals",
    "cluster",
    "decisionSpace",
    "levels",
    "method",
    "policy",
    "provenance",
    "slo",
    "tasks",
  ]);
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["ramsis"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster"),
    tasks: arrayOf(fields.tasks, "tasks", [1, 1], taskOf),
    policy: policyOf(fields.policy, "policy"),
    decisionSpace: decisionSpaceOf(fields.decisionSpace, "decisionSpace"),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
}

function sloOf(value: unknown, path: string): Slo {
  const fields = objectOf(value, path, ["latencyMs", "maxViolationRate", "percentile"]);
  return Object.freeze({
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    maxViolationRate: nullOr(fields.maxViolationRate, `${path}.maxViolationRate`, ratio),
    percentile: percentile(fields.percentile, `${path}.percentile`),
  });
}

function arrivalsOf(value: unknown, path: string): ArrivalModel {
  const process = (value as { process?: unknown } | null)?.process;
  if (process === "gamma") {
    const fields = objectOf(value, path, ["cv2", "process"]);
    return Object.freeze({ process, cv2: positive(fields.cv2, `${path}.cv2`, 1e6) });
  }
  if (process === "trace") {
    const fields = objectOf(value, path, ["dispersion", "file", "process"]);
    return Object.freeze({
      process,
      file: relativePath(fields.file, `${path}.file`),
      dispersion: positive(fields.dispersion, `${path}.dispersion`, 1e6),
    });
  }
  const fields = objectOf(value, path, ["process"]);
  return Object.freeze({ process: oneOf(fields.process, `${path}.process`, ["poisson"]) });
}

function clusterOf(value: unknown, path: string): Cluster {
  const fields = objectOf(value, path, ["communicationLatencyMs", "pools"]);
  const latencyPath = `${path}.communicationLatencyMs`;
  return Object.freeze({
    communicationLatencyMs: numberIn(fields.communicationLatencyMs, latencyPath, 0, MAX_MS),
    pools: arrayOf(fields.pools, `${path}.pools`, [1, 1], poolOf),
  });
}

function poolOf(value: unknown, path: string): Pool {
  const fields = objectOf(value, path, ["cores", "hardware", "name", "pricePerHour", "workers"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    hardware: nullOr(fields.hardware, `${path}.hardware`, text),
    workers: workerCount(fields.workers, `${path}.workers`),
    cores: nullOr(fields.cores, `${path}.cores`, workerCount),
    pricePerHour: nullOr(fields.pricePerHour, `${path}.pricePerHour`, (price, at) =>
      numberIn(price, at, 0, MAX_PRICE),
    ),
  });
}

function taskOf(value: unknown, path: string): Task {
  const fields = objectOf(value, path, ["name", "serviceTimes", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, MAX_VARIANTS], variantOf),
    serviceTimes: serviceTimesOf(fields.serviceTimes, `${path}.serviceTimes`),
  });
}

function variantOf(value: unknown, path: string): Variant {
  const fields = objectOf(value, path, ["accuracy", "dominated", "model", "name", "profile"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    dominated: boolean(fields.dominated, `${path}.dominated`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    profile: profileOf(fields.profile, `${path}.profile`),
  });
}

function modelFileOf(value: unknown, path: string): ModelFile {
  const fields = objectOf(value, path, ["file", "inputs", "outputs", "sha256"]);
  const count = [1, MAX_TENSORS] as const;
  return Object.freeze({
    file: fileName(fields.file, `${path}.file`),
    sha256: sha256(fields.sha256, `${path}.sha256`),
    inputs: arrayOf(fields.inputs, `${path}.inputs`, count, tensorOf),
    outputs: arrayOf(fields.outputs, `${path}.outputs`, count, tensorOf),
  });
}

function tensorOf(value: unknown, path: string): TensorInfo {
  const fields = objectOf(value, path, ["dtype", "name", "shape"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    dtype: text(fields.dtype, `${path}.dtype`),
    shape: arrayOf(fields.shape, `${path}.shape`, [0, MAX_RANK], (dimension, at) =>
      dimension === -1 ? -1 : integerIn(dimension, at, 1, 2 ** 31),
    ),
  });
}

function profileOf(value: unknown, path: string): ProfileReference {
  const fields = objectOf(value, path, ["file", "hardware", "sha256", "variant"]);
  return Object.freeze({
    file: fileName(fields.file, `${path}.file`),
    variant: text(fields.variant, `${path}.variant`),
    hardware: text(fields.hardware, `${path}.hardware`),
    sha256: sha256(fields.sha256, `${path}.sha256`),
  });
}

function serviceTimesOf(value: unknown, path: string): ServiceTimes {
  const fields = objectOf(value, path, ["decisionMs", "percentile", "quantiles"]);
  return Object.freeze({
    percentile: nullOr(fields.percentile, `${path}.percentile`, percentile),
    decisionMs: timesOf(fields.decisionMs, `${path}.decisionMs`),
    quantiles: nullOr(fields.quantiles, `${path}.quantiles`, quantilesOf),
  });
}

function quantilesOf(value: unknown, path: string): ServiceTimeQuantiles {
  const fields = objectOf(value, path, ["meanMs", "p50Ms", "p95Ms", "p99Ms"]);
  return Object.freeze({
    p50Ms: timesOf(fields.p50Ms, `${path}.p50Ms`),
    p95Ms: timesOf(fields.p95Ms, `${path}.p95Ms`),
    p99Ms: timesOf(fields.p99Ms, `${path}.p99Ms`),
    meanMs: timesOf(fields.meanMs, `${path}.meanMs`),
  });
}

/** Service times: every cell above 0, at most MAX_MS. */
function timesOf(value: unknown, path: string): Table {
  const table = tableOf(value, path, "float64", 2);
  const bad = table.data.findIndex((ms: number) => !(ms > 0 && ms <= MAX_MS));
  if (bad >= 0) positive(table.data[bad], `${path}.data[${bad}]`, MAX_MS);
  return table;
}

function policyOf(value: unknown, path: string): RamsisOptions {
  const fields = objectOf(value, path, [
    "balancer",
    "batching",
    "discretization",
    "drop",
    "maxQueue",
    "objective",
    "serviceTimes",
  ]);
  return Object.freeze({
    objective: oneOf(fields.objective, `${path}.objective`, ["per-query", "per-decision"]),
    discretization: discretizationOf(fields.discretization, `${path}.discretization`),
    batching: oneOf(fields.batching, `${path}.batching`, ["maximal", "variable"]),
    maxQueue: integerIn(fields.maxQueue, `${path}.maxQueue`, 1, MAX_QUEUE),
    balancer: oneOf(fields.balancer, `${path}.balancer`, [
      "round-robin",
      "shortest-queue",
      "pooled",
    ]),
    serviceTimes: oneOf(fields.serviceTimes, `${path}.serviceTimes`, ["p95", "quantiles"]),
    drop: boolean(fields.drop, `${path}.drop`),
  });
}

function discretizationOf(value: unknown, path: string): Discretization {
  const { kind } = (value ?? {}) as { kind?: unknown };
  if (kind === "model-based")
    return Object.freeze({ kind: objectOf(value, path, ["kind"]) && kind });
  const fields = objectOf(value, path, ["kind", "steps"]);
  return Object.freeze({
    kind: oneOf(fields.kind, `${path}.kind`, ["fixed"]),
    steps: integerIn(fields.steps, `${path}.steps`, 1, 1_000_000),
  });
}

function decisionSpaceOf(value: unknown, path: string): DecisionSpace {
  const fields = objectOf(value, path, ["actions", "maxQueue", "slackMs"]);
  return Object.freeze({
    maxQueue: integerIn(fields.maxQueue, `${path}.maxQueue`, 1, MAX_QUEUE),
    slackMs: tableOf(fields.slackMs, `${path}.slackMs`, "float64", 1),
    actions: tableOf(fields.actions, `${path}.actions`, "uint16", 2),
  });
}

function levelOf(value: unknown, path: string): Level {
  const fields = objectOf(value, path, [
    "actionByState",
    "capacityQps",
    "expected",
    "feasible",
    "loadQps",
    "mixture",
    "solve",
  ]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    expected: expectedOf(fields.expected, `${path}.expected`),
    solve: solveOf(fields.solve, `${path}.solve`),
    actionByState: tableOf(fields.actionByState, `${path}.actionByState`, "uint16", 2),
    mixture: nullOr(fields.mixture, `${path}.mixture`, mixtureOf),
  });
}

function mixtureOf(value: unknown, path: string): Mixture {
  const fields = objectOf(value, path, ["actionByState", "share"]);
  return Object.freeze({
    share: numberBetween(fields.share, `${path}.share`, 0, 1),
    actionByState: tableOf(fields.actionByState, `${path}.actionByState`, "uint16", 2),
  });
}

function expectedOf(value: unknown, path: string): Expected {
  const fields = objectOf(value, path, [
    "accuracyPerQuery",
    "accuracyPerSatisfied",
    "byBatch",
    "upperBoundAccuracy",
    "violationRate",
  ]);
  return Object.freeze({
    accuracyPerSatisfied: ratio(fields.accuracyPerSatisfied, `${path}.accuracyPerSatisfied`),
    accuracyPerQuery: ratio(fields.accuracyPerQuery, `${path}.accuracyPerQuery`),
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    upperBoundAccuracy: ratio(fields.upperBoundAccuracy, `${path}.upperBoundAccuracy`),
    byBatch: batchDistributionOf(fields.byBatch, `${path}.byBatch`),
  });
}

function batchDistributionOf(value: unknown, path: string): BatchDistribution {
  const fields = objectOf(value, path, ["accuracy", "violationRate"]);
  return Object.freeze({
    accuracy: medianAndP99Of(fields.accuracy, `${path}.accuracy`),
    violationRate: medianAndP99Of(fields.violationRate, `${path}.violationRate`),
  });
}

function medianAndP99Of(value: unknown, path: string): BatchDistribution["accuracy"] {
  const fields = objectOf(value, path, ["median", "p99"]);
  return Object.freeze({
    median: ratio(fields.median, `${path}.median`),
    p99: ratio(fields.p99, `${path}.p99`),
  });
}

function solveOf(value: unknown, path: string): SolveReport {
  const fields = objectOf(value, path, ["iterations", "method", "residual", "states"]);
  return Object.freeze({
    method: text(fields.method, `${path}.method`),
    iterations: integerIn(fields.iterations, `${path}.iterations`, 0, 2 ** 32 - 1),
    residual: numberIn(fields.residual, `${path}.residual`, 0, Number.MAX_VALUE),
    states: integerIn(fields.states, `${path}.states`, 0, 2 ** 32 - 1),
  });
}

function provenanceOf(value: unknown, path: string): Provenance {
  const fields = objectOf(value, path, ["compiler", "inputs"]);
  return Object.freeze({
    compiler: text(fields.compiler, `${path}.compiler`),
    inputs: arrayOf(fields.inputs, `${path}.inputs`, [0, MAX_INPUTS], inputOf),
  });
}

function inputOf(value: unknown, path: string): InputDigest {
  const fields = objectOf(value, path, ["path", "sha256"]);
  return Object.freeze({
    path: relativePath(fields.path, `${path}.path`),
    sha256: sha256(fields.sha256, `${path}.sha256`),
  });
}

function milliseconds(value: unknown, path: string): number {
  return positive(value, path, MAX_MS);
}

function ratio(value: unknown, path: string): number {
  return numberIn(value, path, 0, 1);
}

function percentile(value: unknown, path: string): number {
  return numberBetween(value, path, 0, 100);
}

function workerCount(value: unknown, path: string): number {
  return integerIn(value, path, 1, MAX_WORKERS);
}
