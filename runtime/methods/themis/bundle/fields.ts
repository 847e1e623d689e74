/** The tables of a Themis bundle: its records, field by field. */

import {
  accuracy,
  application,
  arrivals,
  batchSize,
  clusterOf,
  latencyFields,
  levelFields,
  levelsOf,
  METHOD,
  millisecondsOr0,
  model,
  notNegative,
  paceFields,
  profileReference,
  properRatio,
  provenance,
  rate,
  ratio,
  seed,
  slo,
  slosOrNever,
  startFrom,
  throughputOr0,
  timesOf,
  variantName,
  workerCount,
} from "../../../bundle/common-fields.ts";
import {
  integerIn,
  listOf,
  numberBetween,
  numberIn,
  oneOf,
  or,
  orNull,
  positive,
} from "../../../bundle/fields.ts";
import {
  MAX_LEVELS,
  MAX_MS,
  MAX_POOL_CORES,
  MAX_POOLS,
  MAX_QUERIES_PER_REQUEST,
  MAX_REQUESTS,
  MAX_SPAN_MS,
  MAX_STABLE_TICKS,
  MAX_TASKS,
  MAX_VARIANTS,
  MIN_MS,
} from "../../../bundle/limits.ts";
import {
  entryBranch,
  evaluations,
  index,
  planReportFields,
  stageFields,
} from "../../../bundle/pipeline-fields.ts";
import { optional, record } from "../../../bundle/record.ts";
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
  ThemisPaceLevel,
} from "../../../bundle/schema.ts";
import { table } from "../../../bundle/tables.ts";
import { checkThemisSemantics } from "./semantics.ts";

const MAX_PACE = 1000;

const coefficient = numberIn(-MAX_SPAN_MS, MAX_SPAN_MS);

const fit = record<LatencyFit>({
  gamma: [coefficient, "γ of the fit."],
  epsilon: [coefficient, "ε of the fit."],
  delta: [coefficient, "δ of the fit."],
  eta: [coefficient, "η of the fit."],
});

const latency = record<LatencyByCores>({
  ms: [
    timesOf(["maxCores", "maxBatch"]),
    "Time of a batch of `b` on `c` cores in row `c − 1`, column `b − 1`, at most " +
      "`policy.maxCores` by `policy.maxBatch`; it does not decrease along a row.",
  ],
  fit: [
    orNull(fit),
    "Coefficients of γ b / c + ε / c + δ b + η, nil where there are too few points. They explain " +
      "`ms`; a reader does not evaluate them.",
  ],
  points: [
    table("float64", ["pointCount", "3"], true),
    "Measurements: batch, cores and time, within the axes of `ms`, strictly ascending by " +
      "cores and then batch; pointCount may be 0.",
  ],
  quantiles: optional(
    timesOf(["pointCount", "4"]),
    "For each of the `points` p50, p95, p99 and mean, the first three non-decreasing. " +
      "Left out unless there are points, all were measured so, and `cluster` has `serving`.",
  ),
});

const variant = record<ScaledVariant>({
  name: variantName,
  accuracy,
  model,
  profile: [profileReference, "Source of the latencies."],
  pool: optional(
    integerIn(1, MAX_POOLS),
    "Index of the pool of these times; left out for the first. A variant that runs in " +
      "several pools has an entry for each.",
  ),
  latency: [latency, "Time of a batch on any number of cores."],
});

const task = record<ScaledTask>({
  ...stageFields,
  scaleFactor: [positive(MAX_QUERIES_PER_REQUEST), "Mean queries of the task per request."],
  variants: [listOf([1, MAX_VARIANTS], variant), "Models; a plan chooses one of them."],
});

const options = record<ThemisOptions>({
  maxBatch: [batchSize, "Largest batch of a plan."],
  maxCores: [batchSize, "Most cores of one instance."],
  queueing: [
    oneOf(["stochastic", "paper"]),
    "Waiting time of a query: for its batch, as in the paper, or at a quantile of random arrivals.",
  ],
  quantile: [
    or("auto", properRatio),
    "Quantile of the waiting times of the stochastic model; auto: as low as a simulation " +
      "of the plan allows.",
  ],
  solver: [oneOf(["exact", "paper"]), "Search for plans."],
  scaling: [
    oneOf(["joint", "themis", "horizontal", "vertical"]),
    "Plans to follow: of any kind, as in the paper, of instances only, or of cores only.",
  ],
  predictor: [
    oneOf(["last-max", "ewma", "holt", "poisson-peak", "lstm"]),
    "Predictor of the highest rate of the next 100 SLOs.",
  ],
  tickMs: [numberIn(MIN_MS, MAX_MS), "Interval between two decisions."],
  stableTicks: [
    integerIn(1, MAX_STABLE_TICKS),
    "Consecutive decisions that have to agree before instances follow the load.",
  ],
  resizeMs: [millisecondsOr0, "Time to change an instance's cores, in simulations."],
  coldStartMs: [millisecondsOr0, "Start time of an instance, in simulations."],
  startFrom: startFrom("coldStartMs"),
  extraCores: [oneOf(["same", "one"]), "Cores of the instances that a burst adds."],
  dropAfterSlos: [
    slosOrNever,
    "Age, in SLOs, at which a query is given up when its turn comes; nil for never.",
  ],
  dropRule: optional(
    oneOf<"rest">(["rest"]),
    "Rest: what its batch and the rest of its way take counts with its age; left out where its " +
      "age alone counts.",
  ),
});

const stage = record<ScaledStage>({
  batch: [batchSize, "The largest batch, within the axes of `ms`."],
  cores: [batchSize, "Cores of an instance, within the axes of `ms`."],
  instances: [workerCount, "Count."],
  variant: optional(
    integerIn(1, MAX_VARIANTS),
    "Index among the variants of the task; left out for the first.",
  ),
});

const expected = record<ScaleExpected>({
  violationRate: [ratio, "Share of late requests."],
  ...latencyFields,
  ...paceFields,
  requests: [integerIn(0, MAX_REQUESTS), "Requests that were simulated."],
  seed,
  cores: optional(
    numberIn(0, MAX_POOL_CORES),
    "Cores held at the load of the level, in the mean, of the plan that is followed.",
  ),
  costPerHour: optional(notNegative, "Their cost; left out if a pool has no price."),
});

const plan = record<ScalePlan>({
  cores: [
    integerIn(1, MAX_POOL_CORES),
    "The sum over the stages of cores times instances, at most those of the pool.",
  ],
  latencyMs: [
    numberIn(MIN_MS, MAX_SPAN_MS),
    "Latency of the longest path by the model: processing, queueing and hops.",
  ],
  stages: [listOf([1, MAX_TASKS], stage), "One for each task, in their order."],
  expected: [expected, "Simulation of random arrivals at the load of the plan."],
});

const solve = record<ScaleReport>({
  ...planReportFields,
  quantile: [
    orNull(properRatio),
    "Quantile that waiting times were taken at; nil with the paper's queueing.",
  ],
  bindingTask: [
    orNull(index),
    "Index of the task that takes most of the SLO where there is no plan.",
  ],
  evaluations,
});

const level = record<ThemisLevel>({
  ...levelFields(
    "Whether the load has a plan.",
    "The load that `steady` is for: `loadQps` if and only if it is feasible, else less.",
  ),
  horizontal: [orNull(plan), "Plan of one-core instances, if any."],
  vertical: [orNull(plan), "Plan of one instance per stage, if any."],
  joint: [orNull(plan), "Plan of any kind, if any."],
  steady: [plan, "The plan to follow while the load is that of the level."],
  solve: [solve, "Search for the plans."],
});

const paceLevel = record<ThemisPaceLevel>({
  pace: [numberBetween(1, MAX_PACE), "Service times over the profile's."],
  loadQps: [rate, "Requests per second of the whole cluster on that machine."],
  capacityQps: [throughputOr0, "The load that `steady` is for, at most `loadQps`."],
  steady: [plan, "The plan to follow; its times are those of that machine."],
});

export const themisBundle = record<ThemisBundle>({
  application,
  method: [oneOf(["themis"]), METHOD],
  slo,
  arrivals,
  cluster: clusterOf(MAX_POOLS),
  tasks: [listOf([1, MAX_TASKS], task), "The stages, parents before children."],
  entryBranch,
  policy: [options, "Options of the solver and of the runtime that scales by its plans."],
  transitions: [
    table("uint16", ["levelCount", "levelCount", "taskCount", "3"]),
    "Batch, cores of every instance, and instances to add, when the instances of the row's plan " +
      "have to carry the column's load at once.",
  ],
  levels: [levelsOf(level), "Levels, strictly ascending in `loadQps`."],
  paceLevels: optional(
    listOf([1, MAX_LEVELS], paceLevel),
    "Plans for slower machines, strictly ascending in `loadQps` × `pace`, all above the highest " +
      "level. In `transitions` they follow the levels, and count in levelCount. Optional.",
  ),
  provenance,
});

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readThemisBundle(value: unknown): ThemisBundle {
  const bundle = themisBundle.read(value, "");
  checkThemisSemantics(bundle);
  return bundle;
}
