/** An InferLine bundle: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrivalsOf,
  clusterOf,
  MAX_LEVELS,
  MAX_MS,
  MAX_POOLS,
  MAX_QPS,
  MAX_QUEUE,
  MAX_VARIANTS,
  milliseconds,
  modelFileOf,
  properRatio,
  provenanceOf,
  ratio,
  sloOf,
  workerCount,
} from "../../../bundle/common-fields.ts";
import {
  arrayOf,
  boolean,
  integerIn,
  nullOr,
  numberIn,
  objectOf,
  oneOf,
  positive,
  tableOf,
  text,
} from "../../../bundle/fields.ts";
import {
  branchOf,
  edgeOf,
  indexOf,
  MAX_TASKS,
  poolProfileOf,
} from "../../../bundle/pipeline-fields.ts";
import type {
  InferlineBundle,
  InferlineLevel,
  InferlineOptions,
  ProvisioningExpected,
  ProvisioningPlan,
  ProvisioningReport,
  StagePlan,
  StageTask,
  StageVariant,
  TrafficEnvelope,
  TrafficSample,
} from "../../../bundle/schema.ts";

const MAX_COUNT = 2 ** 32 - 1;
const MAX_TRACES = 1_000_000;
/** Standard deviations; no chance reaches as far. */
const MAX_TOLERANCE = 100;
/** All workers of all pools at the highest price stay below it. */
const MAX_COST = 1e18;

export function inferlineBundleOf(value: unknown): InferlineBundle {
  const fields = objectOf(value, "", [
    "application",
    "arrivals",
    "cluster",
    "entryBranch",
    "levels",
    "method",
    "policy",
    "provenance",
    "slo",
    "tasks",
  ]);
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["inferline"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", MAX_POOLS),
    tasks: arrayOf(fields.tasks, "tasks", [1, MAX_TASKS], taskOf),
    entryBranch: branchOf(fields.entryBranch, "entryBranch"),
    policy: policyOf(fields.policy, "policy"),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
}

function taskOf(value: unknown, path: string): StageTask {
  const fields = objectOf(value, path, ["branch", "edges", "name", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    edges: arrayOf(fields.edges, `${path}.edges`, [1, MAX_TASKS], edgeOf),
    branch: branchOf(fields.branch, `${path}.branch`),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, MAX_VARIANTS], variantOf),
  });
}

function variantOf(value: unknown, path: string): StageVariant {
  const fields = objectOf(value, path, ["accuracy", "model", "name", "profiles"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    profiles: arrayOf(fields.profiles, `${path}.profiles`, [1, MAX_POOLS], (profile, at) =>
      nullOr(profile, at, poolProfileOf),
    ),
  });
}

function policyOf(value: unknown, path: string): InferlineOptions {
  const fields = objectOf(value, path, [
    "activationMs",
    "betweenBatches",
    "margin",
    "refine",
    "sampleDurationMs",
    "sampleSeed",
    "solveLimitMs",
    "tolerance",
    "traces",
    "tuner",
  ]);
  return Object.freeze({
    refine: oneOf(fields.refine, `${path}.refine`, ["exact", "none"]),
    margin: fields.margin === "auto" ? fields.margin : properRatio(fields.margin, `${path}.margin`),
    traces: integerIn(fields.traces, `${path}.traces`, 1, MAX_TRACES),
    sampleDurationMs: milliseconds(fields.sampleDurationMs, `${path}.sampleDurationMs`),
    sampleSeed: integerIn(fields.sampleSeed, `${path}.sampleSeed`, 0, MAX_COUNT),
    solveLimitMs: milliseconds(fields.solveLimitMs, `${path}.solveLimitMs`),
    betweenBatches: oneOf(fields.betweenBatches, `${path}.betweenBatches`, ["next", "linear"]),
    tuner: oneOf(fields.tuner, `${path}.tuner`, ["relative", "paper", "none"]),
    tolerance: numberIn(fields.tolerance, `${path}.tolerance`, 0, MAX_TOLERANCE),
    activationMs: numberIn(fields.activationMs, `${path}.activationMs`, 0, MAX_MS),
  });
}

function levelOf(value: unknown, path: string): InferlineLevel {
  const fields = objectOf(value, path, [
    "capacityQps",
    "expected",
    "feasible",
    "loadQps",
    "plan",
    "sample",
    "solve",
  ]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    plan: planOf(fields.plan, `${path}.plan`),
    sample: sampleOf(fields.sample, `${path}.sample`),
    expected: expectedOf(fields.expected, `${path}.expected`),
    solve: reportOf(fields.solve, `${path}.solve`),
  });
}

function planOf(value: unknown, path: string): ProvisioningPlan {
  const fields = objectOf(value, path, ["costPerHour", "stages"]);
  return Object.freeze({
    costPerHour: cost(fields.costPerHour, `${path}.costPerHour`),
    stages: arrayOf(fields.stages, `${path}.stages`, [1, MAX_TASKS], stageOf),
  });
}

function stageOf(value: unknown, path: string): StagePlan {
  const fields = objectOf(value, path, [
    "batch",
    "latencyMs",
    "pool",
    "provisioningRatio",
    "replicas",
    "scaleFactor",
    "throughputQps",
    "variant",
  ]);
  return Object.freeze({
    variant: indexOf(fields.variant, `${path}.variant`),
    pool: indexOf(fields.pool, `${path}.pool`),
    batch: integerIn(fields.batch, `${path}.batch`, 1, MAX_QUEUE),
    replicas: workerCount(fields.replicas, `${path}.replicas`),
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    throughputQps: positive(fields.throughputQps, `${path}.throughputQps`, MAX_QPS),
    scaleFactor: ratio(fields.scaleFactor, `${path}.scaleFactor`),
    provisioningRatio: numberIn(
      fields.provisioningRatio,
      `${path}.provisioningRatio`,
      0,
      Number.MAX_VALUE,
    ),
  });
}

function sampleOf(value: unknown, path: string): TrafficSample {
  const fields = objectOf(value, path, [
    "durationMs",
    "envelope",
    "estimate",
    "margin",
    "meanQps",
    "peakQps",
    "requests",
  ]);
  return Object.freeze({
    requests: integerIn(fields.requests, `${path}.requests`, 1, Number.MAX_SAFE_INTEGER),
    durationMs: milliseconds(fields.durationMs, `${path}.durationMs`),
    meanQps: positive(fields.meanQps, `${path}.meanQps`, MAX_QPS),
    peakQps: positive(fields.peakQps, `${path}.peakQps`, MAX_QPS),
    margin: properRatio(fields.margin, `${path}.margin`),
    estimate: estimateOf(fields.estimate, `${path}.estimate`),
    envelope: envelopeOf(fields.envelope, `${path}.envelope`),
  });
}

function estimateOf(value: unknown, path: string): TrafficSample["estimate"] {
  const fields = objectOf(value, path, ["missRate", "p99Ms"]);
  return Object.freeze({
    p99Ms: numberIn(fields.p99Ms, `${path}.p99Ms`, 0, MAX_MS),
    missRate: ratio(fields.missRate, `${path}.missRate`),
  });
}

function envelopeOf(value: unknown, path: string): TrafficEnvelope {
  const fields = objectOf(value, path, ["requests", "windowMs"]);
  return Object.freeze({
    windowMs: tableOf(fields.windowMs, `${path}.windowMs`, "float64", 1),
    requests: tableOf(fields.requests, `${path}.requests`, "float64", 1),
  });
}

function expectedOf(value: unknown, path: string): ProvisioningExpected {
  const fields = objectOf(value, path, [
    "costPerHour",
    "durationMs",
    "heldOut",
    "latencyMsP50",
    "latencyMsP99",
    "seed",
    "violationRate",
  ]);
  return Object.freeze({
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    latencyMsP50: numberIn(fields.latencyMsP50, `${path}.latencyMsP50`, 0, MAX_MS),
    latencyMsP99: numberIn(fields.latencyMsP99, `${path}.latencyMsP99`, 0, MAX_MS),
    costPerHour: cost(fields.costPerHour, `${path}.costPerHour`),
    seed: integerIn(fields.seed, `${path}.seed`, 0, MAX_COUNT),
    durationMs: milliseconds(fields.durationMs, `${path}.durationMs`),
    heldOut: heldOutOf(fields.heldOut, `${path}.heldOut`),
  });
}

function heldOutOf(value: unknown, path: string): ProvisioningExpected["heldOut"] {
  const fields = objectOf(value, path, ["met", "missRate", "traces"]);
  return Object.freeze({
    traces: integerIn(fields.traces, `${path}.traces`, 0, MAX_TRACES),
    met: integerIn(fields.met, `${path}.met`, 0, MAX_TRACES),
    missRate: ratio(fields.missRate, `${path}.missRate`),
  });
}

function reportOf(value: unknown, path: string): ProvisioningReport {
  const fields = objectOf(value, path, [
    "evaluations",
    "greedyCostPerHour",
    "method",
    "provenGap",
    "status",
  ]);
  return Object.freeze({
    method: text(fields.method, `${path}.method`),
    status: oneOf(fields.status, `${path}.status`, ["optimal", "feasible", "infeasible"]),
    greedyCostPerHour: nullOr(fields.greedyCostPerHour, `${path}.greedyCostPerHour`, cost),
    provenGap: ratio(fields.provenGap, `${path}.provenGap`),
    evaluations: integerIn(fields.evaluations, `${path}.evaluations`, 0, MAX_COUNT),
  });
}

function cost(value: unknown, path: string): number {
  return numberIn(value, path, 0, MAX_COST);
}
