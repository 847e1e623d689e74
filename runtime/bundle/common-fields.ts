/** Parts that the bundles of all methods have: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrayOf,
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
  Cluster,
  DecisionSpace,
  InputDigest,
  ModelFile,
  Pool,
  ProfileReference,
  Provenance,
  ServiceTimeQuantiles,
  ServiceTimes,
  Slo,
  Table,
  TensorInfo,
} from "./schema.ts";

/** Eleven days. Sums of times and products with rates stay far from the limits of a float64. */
export const MAX_MS = 1e9;
export const MAX_QPS = 1e12;
const MAX_PRICE = 1e9;
export const MAX_WORKERS = 1_000_000;
export const MAX_POOLS = 1000;
const MAX_INPUTS = 10_000;
const MAX_TENSORS = 256;
const MAX_RANK = 16;
/** Row indices of an action table fit a uint16, as batch sizes must. */
export const MAX_QUEUE = 65_534;
/** Queries that one queue of a whole cluster holds at most. */
export const MAX_WAITING = 2 ** 20 - 1;
export const MAX_VARIANTS = 1000;
export const MAX_LEVELS = 10_000;

export function sloOf(value: unknown, path: string): Slo {
  const fields = objectOf(value, path, ["latencyMs", "maxViolationRate", "percentile"]);
  return Object.freeze({
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    maxViolationRate: nullOr(fields.maxViolationRate, `${path}.maxViolationRate`, ratio),
    percentile: percentile(fields.percentile, `${path}.percentile`),
  });
}

export function arrivalsOf(value: unknown, path: string): ArrivalModel {
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

export function clusterOf(value: unknown, path: string, maxPools: number): Cluster {
  const fields = objectOf(value, path, ["communicationLatencyMs", "pools"]);
  const latencyPath = `${path}.communicationLatencyMs`;
  return Object.freeze({
    communicationLatencyMs: numberIn(fields.communicationLatencyMs, latencyPath, 0, MAX_MS),
    pools: arrayOf(fields.pools, `${path}.pools`, [1, maxPools], poolOf),
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

export function modelFileOf(value: unknown, path: string): ModelFile {
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

export function profileOf(value: unknown, path: string): ProfileReference {
  const fields = objectOf(value, path, ["file", "hardware", "sha256", "variant"]);
  return Object.freeze({
    file: fileName(fields.file, `${path}.file`),
    variant: text(fields.variant, `${path}.variant`),
    hardware: text(fields.hardware, `${path}.hardware`),
    sha256: sha256(fields.sha256, `${path}.sha256`),
  });
}

export function serviceTimesOf(value: unknown, path: string): ServiceTimes {
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
export function timesOf(value: unknown, path: string): Table {
  const table = tableOf(value, path, "float64", 2);
  const bad = table.data.findIndex((ms: number) => !(ms > 0 && ms <= MAX_MS));
  if (bad >= 0) positive(table.data[bad], `${path}.data[${bad}]`, MAX_MS);
  return table;
}

export function decisionSpaceOf(value: unknown, path: string): DecisionSpace {
  const fields = objectOf(value, path, ["actions", "maxQueue", "slackMs"], ["queued"]);
  return Object.freeze({
    ...(fields.queued === undefined
      ? {}
      : { queued: tableOf(fields.queued, `${path}.queued`, "float64", 1) }),
    maxQueue: integerIn(fields.maxQueue, `${path}.maxQueue`, 1, MAX_WAITING),
    slackMs: tableOf(fields.slackMs, `${path}.slackMs`, "float64", 1),
    actions: tableOf(fields.actions, `${path}.actions`, "uint16", 2),
  });
}

export function provenanceOf(value: unknown, path: string): Provenance {
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

export function milliseconds(value: unknown, path: string): number {
  return positive(value, path, MAX_MS);
}

export function ratio(value: unknown, path: string): number {
  return numberIn(value, path, 0, 1);
}

/** 0 is one, 1 is not. */
export function properRatio(value: unknown, path: string): number {
  return value === 0 ? ratio(value, path) : numberBetween(value, path, 0, 1);
}

export function percentile(value: unknown, path: string): number {
  return numberBetween(value, path, 0, 100);
}

export function workerCount(value: unknown, path: string): number {
  return integerIn(value, path, 1, MAX_WORKERS);
}
