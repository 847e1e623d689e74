/** A Themis bundle: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrivalsOf,
  clusterOf,
  MAX_LEVELS,
  MAX_MS,
  MAX_QPS,
  MAX_QUEUE,
  MAX_WORKERS,
  milliseconds,
  modelFileOf,
  profileOf,
  properRatio,
  provenanceOf,
  ratio,
  sloOf,
  timesOf,
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
import { branchOf, edgeOf, indexOf, MAX_TASKS } from "../../../bundle/pipeline-fields.ts";
import type {
  LatencyByCores,
  LatencyFit,
  ScaledStage,
  ScaledTask,
  ScaledVariant,
  ScaleExpected,
  ScalePlan,
  ScaleReport,
  ThemisBundle,
  ThemisLevel,
  ThemisOptions,
} from "../../../bundle/schema.ts";

const MAX_COUNT = 2 ** 32 - 1;
/** All cores of the pool. */
const MAX_CORES = MAX_WORKERS ** 2;
/** Beyond it a query is as good as never given up. */
const MAX_SLOS = 1e9;

export function themisBundleOf(value: unknown): ThemisBundle {
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
    "transitions",
  ]);
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["themis"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", 1),
    tasks: arrayOf(fields.tasks, "tasks", [1, MAX_TASKS], taskOf),
    entryBranch: branchOf(fields.entryBranch, "entryBranch"),
    policy: policyOf(fields.policy, "policy"),
    transitions: tableOf(fields.transitions, "transitions", "uint16", 4),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
}

function taskOf(value: unknown, path: string): ScaledTask {
  const fields = objectOf(value, path, ["branch", "edges", "name", "scaleFactor", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    edges: arrayOf(fields.edges, `${path}.edges`, [1, MAX_TASKS], edgeOf),
    branch: branchOf(fields.branch, `${path}.branch`),
    scaleFactor: positive(fields.scaleFactor, `${path}.scaleFactor`, 1),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, 1], variantOf),
  });
}

function variantOf(value: unknown, path: string): ScaledVariant {
  const fields = objectOf(value, path, ["accuracy", "latency", "model", "name", "profile"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    profile: profileOf(fields.profile, `${path}.profile`),
    latency: latencyOf(fields.latency, `${path}.latency`),
  });
}

function latencyOf(value: unknown, path: string): LatencyByCores {
  const fields = objectOf(value, path, ["fit", "ms", "points"]);
  return Object.freeze({
    ms: timesOf(fields.ms, `${path}.ms`),
    fit: nullOr(fields.fit, `${path}.fit`, fitOf),
    points: tableOf(fields.points, `${path}.points`, "float64", 2, 0),
  });
}

function fitOf(value: unknown, path: string): LatencyFit {
  const fields = objectOf(value, path, ["delta", "epsilon", "eta", "gamma"]);
  return Object.freeze({
    gamma: numberIn(fields.gamma, `${path}.gamma`, -MAX_MS, MAX_MS),
    epsilon: numberIn(fields.epsilon, `${path}.epsilon`, -MAX_MS, MAX_MS),
    delta: numberIn(fields.delta, `${path}.delta`, -MAX_MS, MAX_MS),
    eta: numberIn(fields.eta, `${path}.eta`, -MAX_MS, MAX_MS),
  });
}

function policyOf(value: unknown, path: string): ThemisOptions {
  const fields = objectOf(value, path, [
    "coldStartMs",
    "dropAfterSlos",
    "extraCores",
    "maxBatch",
    "maxCores",
    "predictor",
    "quantile",
    "queueing",
    "resizeMs",
    "scaling",
    "solver",
    "stableTicks",
    "tickMs",
  ]);
  const { quantile } = fields;
  return Object.freeze({
    maxBatch: integerIn(fields.maxBatch, `${path}.maxBatch`, 1, MAX_QUEUE),
    maxCores: integerIn(fields.maxCores, `${path}.maxCores`, 1, MAX_QUEUE),
    queueing: oneOf(fields.queueing, `${path}.queueing`, ["stochastic", "paper"]),
    quantile: quantile === "auto" ? quantile : properRatio(quantile, `${path}.quantile`),
    solver: oneOf(fields.solver, `${path}.solver`, ["exact", "paper"]),
    scaling: oneOf(fields.scaling, `${path}.scaling`, [
      "joint",
      "themis",
      "horizontal",
      "vertical",
    ]),
    predictor: oneOf(fields.predictor, `${path}.predictor`, [
      "last-max",
      "ewma",
      "holt",
      "poisson-peak",
      "lstm",
    ]),
    tickMs: milliseconds(fields.tickMs, `${path}.tickMs`),
    stableTicks: integerIn(fields.stableTicks, `${path}.stableTicks`, 1, MAX_COUNT),
    resizeMs: numberIn(fields.resizeMs, `${path}.resizeMs`, 0, MAX_MS),
    coldStartMs: numberIn(fields.coldStartMs, `${path}.coldStartMs`, 0, MAX_MS),
    extraCores: oneOf(fields.extraCores, `${path}.extraCores`, ["same", "one"]),
    dropAfterSlos: nullOr(fields.dropAfterSlos, `${path}.dropAfterSlos`, (slos, at) =>
      positive(slos, at, MAX_SLOS),
    ),
  });
}

function levelOf(value: unknown, path: string): ThemisLevel {
  const fields = objectOf(value, path, [
    "capacityQps",
    "feasible",
    "horizontal",
    "joint",
    "loadQps",
    "solve",
    "steady",
    "vertical",
  ]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    horizontal: nullOr(fields.horizontal, `${path}.horizontal`, planOf),
    vertical: nullOr(fields.vertical, `${path}.vertical`, planOf),
    joint: nullOr(fields.joint, `${path}.joint`, planOf),
    steady: planOf(fields.steady, `${path}.steady`),
    solve: reportOf(fields.solve, `${path}.solve`),
  });
}

function planOf(value: unknown, path: string): ScalePlan {
  const fields = objectOf(value, path, ["cores", "expected", "latencyMs", "stages"]);
  return Object.freeze({
    cores: integerIn(fields.cores, `${path}.cores`, 1, MAX_CORES),
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    stages: arrayOf(fields.stages, `${path}.stages`, [1, MAX_TASKS], stageOf),
    expected: expectedOf(fields.expected, `${path}.expected`),
  });
}

function stageOf(value: unknown, path: string): ScaledStage {
  const fields = objectOf(value, path, ["batch", "cores", "instances"]);
  return Object.freeze({
    batch: integerIn(fields.batch, `${path}.batch`, 1, MAX_QUEUE),
    cores: integerIn(fields.cores, `${path}.cores`, 1, MAX_QUEUE),
    instances: workerCount(fields.instances, `${path}.instances`),
  });
}

function expectedOf(value: unknown, path: string): ScaleExpected {
  const fields = objectOf(value, path, [
    "latencyMsP50",
    "latencyMsP99",
    "requests",
    "seed",
    "violationRate",
  ]);
  return Object.freeze({
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    latencyMsP50: numberIn(fields.latencyMsP50, `${path}.latencyMsP50`, 0, MAX_MS),
    latencyMsP99: numberIn(fields.latencyMsP99, `${path}.latencyMsP99`, 0, MAX_MS),
    requests: integerIn(fields.requests, `${path}.requests`, 0, Number.MAX_SAFE_INTEGER),
    seed: integerIn(fields.seed, `${path}.seed`, 0, MAX_COUNT),
  });
}

function reportOf(value: unknown, path: string): ScaleReport {
  const fields = objectOf(value, path, [
    "bindingTask",
    "evaluations",
    "method",
    "quantile",
    "status",
  ]);
  return Object.freeze({
    method: text(fields.method, `${path}.method`),
    status: oneOf(fields.status, `${path}.status`, ["optimal", "feasible", "infeasible"]),
    quantile: nullOr(fields.quantile, `${path}.quantile`, properRatio),
    bindingTask: nullOr(fields.bindingTask, `${path}.bindingTask`, indexOf),
    evaluations: integerIn(fields.evaluations, `${path}.evaluations`, 0, MAX_COUNT),
  });
}
