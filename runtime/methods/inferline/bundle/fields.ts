/** The tables of an InferLine bundle: its records, field by field. */

import {
  accuracy,
  application,
  arrivals,
  batchSize,
  clusterOf,
  count,
  durationMs,
  latencyFields,
  levelFields,
  levelsOf,
  METHOD,
  millisecondsOr0,
  model,
  notNegative,
  paceFields,
  properRatio,
  provenance,
  ratio,
  seed,
  slo,
  span,
  startFrom,
  throughput,
  variantName,
  workerCount,
} from "../../../bundle/common-fields.ts";
import { integerIn, listOf, numberIn, oneOf, or, orNull } from "../../../bundle/fields.ts";
import {
  MAX_POOLS,
  MAX_PRICE,
  MAX_QUERIES_PER_REQUEST,
  MAX_REQUESTS,
  MAX_SPAN_MS,
  MAX_TASKS,
  MAX_TRACES,
  MAX_VARIANTS,
  MAX_WORKERS,
  MIN_MS,
} from "../../../bundle/limits.ts";
import {
  entryBranch,
  evaluations,
  index,
  planReportFields,
  poolProfiles,
  stageFields,
} from "../../../bundle/pipeline-fields.ts";
import { optional, record } from "../../../bundle/record.ts";
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
import { table } from "../../../bundle/tables.ts";
import { checkInferlineSemantics } from "./semantics.ts";

/** Standard deviations beyond any random excess. */
const MAX_TOLERANCE = 100;

/** All workers at the highest price. */
const cost = numberIn(0, MAX_WORKERS * MAX_PRICE);
const traceCount = integerIn(0, MAX_TRACES);

const variant = record<StageVariant>({
  name: variantName,
  accuracy,
  model,
  profiles: poolProfiles,
});

const task = record<StageTask>({
  ...stageFields,
  variants: [
    listOf([1, MAX_VARIANTS], variant),
    "The same model for different hardware: at most one has a profile for a pool, and at least " +
      "one pool has one.",
  ],
});

const options = record<InferlineOptions>({
  refine: [
    oneOf(["exact", "none"]),
    "Whether the greedy plan is improved until it is proven optimal, or the time is over.",
  ],
  downgrade: optional(
    oneOf<"any">(["any"]),
    "Cheaper hardware that greedy tries for a task: any; left out for the next cheaper.",
  ),
  margin: [
    or("auto", properRatio),
    "Part of the SLO that plans keep free; auto: as little as held-out traces " + "allow.",
  ],
  traces: [integerIn(1, MAX_TRACES), "Sample traces that a plan has to meet the SLO on."],
  sampleDurationMs: [span, "Length of a drawn sample trace; less if it has 50,000 requests."],
  sampleRequests: optional(
    integerIn(1, MAX_REQUESTS),
    "Smallest mean number of its requests: at a low load it is longer. Left " +
      "out if the length was stated.",
  ),
  sampleSeed: [count, "Seed of the random numbers of sample traces."],
  solveLimitMs: [span, "Longest time for one optimisation."],
  betweenBatches: [
    oneOf(["next", "linear"]),
    "Time of a batch between two profiled sizes: that of the next larger one, or linear between " +
      "them.",
  ],
  tuner: [
    oneOf(["joint", "relative", "paper", "none"]),
    "How replicas follow the traffic while the plan is followed.",
  ],
  tolerance: [
    numberIn(0, MAX_TOLERANCE),
    "Standard deviations of a window's count above `sample.envelope` that are no excess to the " +
      "relative tuner, and beside its own none to the joint one.",
  ],
  activationMs: [millisecondsOr0, "Start time of a replica, in simulations."],
  startFrom: startFrom("activationMs"),
});

const stage = record<StagePlan>({
  variant: [index, "Index among the variants of the task."],
  pool: [index, "Index of a pool that the variant has a profile for."],
  batch: [batchSize, "The largest batch, one of the profiled sizes."],
  replicas: [workerCount, "Count."],
  latencyMs: [span, "Time of a full batch, the same number as in `serviceTimes`."],
  throughputQps: [throughput, "Throughput of one replica: μ = 1000 · `batch` / `latencyMs`."],
  scaleFactor: [numberIn(0, MAX_QUERIES_PER_REQUEST), "Mean queries of the task per request: s."],
  provisioningRatio: [notNegative, "ρ = `sample.meanQps` · s / (`replicas` · μ)."],
});

const plan = record<ProvisioningPlan>({
  costPerHour: [cost, "Cost of all replicas."],
  stages: [listOf([1, MAX_TASKS], stage), "One for each task, in their order."],
});

const estimate = record<TrafficSample["estimate"]>({
  p99Ms: [numberIn(0, MAX_SPAN_MS), "99th percentile of the latencies."],
  missRate: [ratio, "Share of requests that miss the SLO."],
});

const envelope = record<TrafficEnvelope>({
  windowMs: [
    table("float64", ["windowCount"]),
    "Lengths, at most 64 of them, strictly ascending: to 600 SLOs, or the length of a trace.",
  ],
  requests: [table("float64", ["windowCount"]), "Whole numbers from 1, non-decreasing."],
});

const sample = record<TrafficSample>({
  requests: [integerIn(1, Number.MAX_SAFE_INTEGER), "Requests of the sample traces."],
  durationMs: [numberIn(MIN_MS, MAX_SPAN_MS), "Their length."],
  meanQps: [throughput, "Requests over the duration: λ."],
  peakQps: [throughput, "The highest rate in tumbling windows of 50 SLOs."],
  margin: [properRatio, "Part of the SLO that was kept free."],
  estimate: [estimate, "The plan on all sample traces."],
  envelope: [envelope, "Most requests in any closed window of each length."],
});

const heldOut = record<ProvisioningExpected["heldOut"]>({
  traces: [traceCount, "Count."],
  met: [traceCount, "Number of those on which the plan alone meets the SLO."],
  missRate: [ratio, "Share of all their requests that miss the SLO."],
});

const expected = record<ProvisioningExpected>({
  violationRate: [ratio, "Share of late requests."],
  ...latencyFields,
  ...paceFields,
  costPerHour: [cost, "Mean over the time, of the replicas that run or start."],
  seed,
  durationMs,
  heldOut: [heldOut, "Held-out traces."],
});

const solve = record<ProvisioningReport>({
  ...planReportFields,
  greedyCostPerHour: [orNull(cost), "Cost of the greedy plan; nil if it found no plan."],
  provenGap: [ratio, "The optimum is at most this part of the cost cheaper; 0 if it is optimal."],
  evaluations,
});

const level = record<InferlineLevel>({
  ...levelFields(
    "Whether the plan meets the SLO on the sample traces of the load.",
    "The load that the plan is for: `loadQps` if it is feasible, else at most that.",
  ),
  plan: [plan, "Plan."],
  sample: [sample, "Traffic that the planner used, and that the tuner compares the traffic with."],
  expected: [expected, "Simulation of the level at its load, with the tuner."],
  solve: [solve, "Search for the plan."],
});

export const inferlineBundle = record<InferlineBundle>({
  application,
  method: [oneOf(["inferline"]), METHOD],
  slo,
  arrivals,
  cluster: clusterOf(MAX_POOLS),
  tasks: [
    listOf([1, MAX_TASKS], task),
    "The stages, parents before children; events of a simulation at the same time are taken in " +
      "this order.",
  ],
  entryBranch,
  policy: [options, "Options of the planner and of the tuner that follows its plans."],
  levels: [levelsOf(level), "Levels, strictly ascending in `loadQps`."],
  provenance,
});

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readInferlineBundle(value: unknown): InferlineBundle {
  const bundle = inferlineBundle.read(value, "");
  checkInferlineSemantics(bundle);
  return bundle;
}
