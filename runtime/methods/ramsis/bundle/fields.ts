/** The tables of a RAMSIS bundle: its records, field by field. */

import {
  accuracy,
  accuracyFields,
  actionTable,
  application,
  arrivals,
  batchSize,
  clusterOf,
  count,
  decisionSpace,
  expectedTimes,
  levelFields,
  levelsOf,
  MAX_COUNT,
  MAX_PACE,
  METHOD,
  model,
  notNegative,
  paceFields,
  profileReference,
  provenance,
  rate,
  ratio,
  serviceTimes,
  solverName,
  variantName,
} from "../../../bundle/common-fields.ts";
import {
  boolean,
  integerIn,
  listOf,
  numberBetween,
  oneOf,
  orNull,
  type Shape,
  text,
} from "../../../bundle/fields.ts";
import { MAX_LEVELS, MAX_VARIANTS } from "../../../bundle/limits.ts";
import { dependent, type Fields, mapOf, optional, record, tagged } from "../../../bundle/record.ts";
import type {
  BatchDistribution,
  Discretization,
  Expected,
  Mixture,
  RamsisBundle,
  RamsisLevel,
  RamsisOptions,
  RamsisPaceLevel,
  SolveReport,
  Task,
  Variant,
} from "../../../bundle/schema.ts";
import { buckets, bucketTables, byBucket } from "./bucket-fields.ts";
import { classExpected, classSpaces, classTables, sloWithClasses } from "./class-fields.ts";
import { checkRamsisSemantics } from "./semantics.ts";

const MAX_STEPS = 1_000_000;

const variant = record<Variant>({
  name: variantName,
  accuracy,
  dominated: [
    boolean,
    "Whether another variant is at least as accurate and at least as fast at every batch size; " +
      "the compiler then never chooses this one.",
  ],
  model,
  profile: [profileReference, "Source of the service times."],
});

const task = record<Task>({
  name: [text, "The task's name."],
  variants: [listOf([1, MAX_VARIANTS], variant), "Actions refer to their index."],
  serviceTimes: [serviceTimes, "Time of a batch; a row for each variant."],
});

const discretization = tagged<"kind", Discretization>("kind", {
  fixed: record<Extract<Discretization, { kind: "fixed" }>>({
    kind: [oneOf(["fixed"]), "Slacks are equally far apart."],
    steps: [integerIn(1, MAX_STEPS), "Number of steps up to the SLO."],
  }),
  "model-based": record<Extract<Discretization, { kind: "model-based" }>>({
    kind: [oneOf(["model-based"]), "One slack for each service time."],
  }),
});

const options = record<RamsisOptions>({
  objective: [oneOf(["per-query", "per-decision"]), "Unit over which the mean accuracy is taken."],
  discretization: [discretization, "How slacks were chosen."],
  batching: [
    oneOf(["maximal", "variable"]),
    "Maximal: a batch takes all waiting queries. Variable: any number of them.",
  ],
  maxQueue: [
    batchSize,
    "Largest number of waiting queries per worker that is a state of its own; with the pooled " +
      "balancer, the largest batch.",
  ],
  balancer: [
    oneOf(["round-robin", "shortest-queue", "pooled"]),
    "How queries reach workers; pooled keeps one queue for all workers.",
  ],
  serviceTimes: [
    oneOf(["p95", "quantiles"]),
    "Time of a batch in the decision problem: `decisionMs`, or atoms of `quantiles`.",
  ],
  drop: [boolean, "Whether a query that no variant can serve in time is given up."],
  lateMs: optional(
    notNegative,
    "Longest time after its deadline at which a late query is answered, ms; if that is not " +
      "possible it is dropped. If left out, there is no bound.",
  ),
  classes: optional(
    oneOf(["auto", "shared", "separate"]),
    "How classes are served: in one queue, each by workers of its own, or per level the " +
      "better of the two. Present if and only if `slo.classes` are.",
  ),
  latencyPrice: optional(
    ratio,
    "Accuracy per query that a mean latency lower by one SLO is worth. Left out if the " +
      "compiler chose it: latency then costs at most 0.0001 of accuracy at any level.",
  ),
});

const sample = record<NonNullable<Expected["sample"]>>({
  queries: [integerIn(1, MAX_COUNT), "Queries that were simulated."],
  violations: [
    dependent<{ readonly queries: number }, number>(count, ({ queries }) => integerIn(0, queries)),
    "Late ones, at most `queries`.",
  ],
});

const accuracyByBatch = record<BatchDistribution["accuracy"]>({
  median: [ratio, "Reached by at least half of the batches; a late batch has 0."],
  p99: [ratio, "Reached by at least 99 % of the batches."],
});

const violationsByBatch = record<BatchDistribution["violationRate"]>({
  median: [ratio, "Not exceeded by at least half of the batches."],
  p99: [ratio, "Not exceeded by at least 99 % of the batches."],
});

const byBatch = record<BatchDistribution>({
  accuracy: [accuracyByBatch, "Accuracy of a batch."],
  violationRate: [violationsByBatch, "Violation rate of a batch."],
});

type ExpectedOfAll = Omit<Expected, "byClass">;

const expectedFields: Fields<ExpectedOfAll> = {
  ...accuracyFields,
  upperBoundAccuracy: [
    ratio,
    "Upper bound per query for any policy whose violation rate is at most the allowed one, or " +
      "this policy's if that is higher.",
  ],
  servedBoundAccuracy: optional(
    ratio,
    "Upper bound per query for any policy that serves every query in time.",
  ),
  sample: optional(
    sample,
    "Counts of the simulation, if the figures are from one; `violationRate` is then an upper " +
      "confidence bound of the true rate.",
  ),
  ...expectedTimes,
  ...paceFields,
  byBatch: [byBatch, "Distribution over batches."],
  byBucket,
};

const solve = record<SolveReport>({
  method: solverName,
  iterations: [count, "Iterations of the solver."],
  residual: [notNegative, "Span of the last Bellman residual."],
  states: [count, "States of the decision problem."],
});

const mixture = record<Mixture>({
  share: [numberBetween(0, 1), "Its share of the decisions."],
  actionByState: [actionTable, "Same form as that of the level."],
});

function levelWith(expected: Shape<Expected>): Shape<RamsisLevel> {
  return record<RamsisLevel>({
    ...levelFields(
      "True only if `loadQps` is at most `capacityQps` and the expected violation rate, of every " +
        "class, and the expected latencies are within the SLO.",
      "The rate that the fastest variant carries when every batch just meets the SLO; 0 if none " +
        "does.",
    ),
    marginMs: optional(
      notNegative,
      "Time that the tables of this level leave to the serving path of a query, ms; left out if " +
        "that is `cluster.serving.marginMs`. A lookup subtracts what it is more than that from " +
        "the slack.",
    ),
    expected: [expected, "Guarantees in steady state, weighted by queries."],
    solve: [solve, "Computation of the level."],
    actionByState: [
      actionTable,
      "The action of each state, a row index of `actions`; with the pooled balancer also 65535, " +
        "to wait, not in column 0, and 65534, to give the earliest query up.",
    ],
    classTables,
    bucketTables,
    mixture: [
      orNull(mixture),
      "A second table that answers a share of the decisions, each chosen at random independently " +
        "of all others.",
    ],
  });
}

const paceLevel = record<RamsisPaceLevel>({
  pace: [numberBetween(1, MAX_PACE), "Service times over the profile's."],
  loadQps: [rate, "Queries per second of the whole cluster."],
  marginMs: optional(notNegative, "Same as in a level."),
  actionByState: [actionTable, "As in a level."],
  classTables,
  bucketTables,
  mixture: [orNull(mixture), "As in a level."],
});

const expected: Shape<Expected> = { ...record<ExpectedOfAll>(expectedFields) };
const levels = levelsOf(levelWith(expected));

/** Adds the figures of each class. */
function levelsOfClasses(names: readonly string[]): Shape<readonly RamsisLevel[]> {
  const byClass = mapOf(names, classExpected);
  const meaning = "The same by class name, if and only if there are classes.";
  const fields = { ...expectedFields, byClass: optional(byClass, meaning) };
  return levelsOf(levelWith(record<Expected>(fields, ["byClass"])));
}

export const ramsisBundle = record<RamsisBundle>({
  application,
  method: [oneOf(["ramsis"]), METHOD],
  slo: [sloWithClasses, "Objective of the policy."],
  arrivals,
  cluster: clusterOf(1),
  tasks: [listOf([1, 1], task), "The one model endpoint."],
  policy: [options, "Options of the solver."],
  decisionSpace: [decisionSpace, "The axes that the tables of all levels share."],
  classSpaces,
  buckets,
  levels: [
    dependent<Pick<RamsisBundle, "slo">, readonly RamsisLevel[]>(
      levelsOfClasses([]),
      ({ slo: { classes } }) =>
        classes === undefined ? levels : levelsOfClasses(classes.map(({ name }) => name)),
    ),
    "Levels, strictly ascending in `loadQps`.",
  ],
  paceLevels: optional(
    listOf([1, MAX_LEVELS], paceLevel),
    "Levels for slower machines, ascending by `pace`, and within a pace by `loadQps`.",
  ),
  provenance,
});

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readRamsisBundle(value: unknown): RamsisBundle {
  const bundle = ramsisBundle.read(value, "");
  checkRamsisSemantics(bundle);
  return bundle;
}
