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
  expectedLatency,
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
    steps: [integerIn(1, MAX_STEPS), "How many steps the SLO has."],
  }),
  "model-based": record<Extract<Discretization, { kind: "model-based" }>>({
    kind: [oneOf(["model-based"]), "There is a slack for each service time."],
  }),
});

const options = record<RamsisOptions>({
  objective: [oneOf(["per-query", "per-decision"]), "What the mean accuracy is taken over."],
  discretization: [discretization, "How slacks were chosen."],
  batching: [
    oneOf(["maximal", "variable"]),
    "Maximal: a batch is all that wait. Variable: any number of them.",
  ],
  maxQueue: [
    batchSize,
    "Queries that wait for one worker and are a state of their own at most; with the pooled " +
      "balancer, the largest batch.",
  ],
  balancer: [
    oneOf(["round-robin", "shortest-queue", "pooled"]),
    "How queries reach workers; pooled keeps one queue for all workers.",
  ],
  serviceTimes: [
    oneOf(["p95", "quantiles"]),
    "What a batch takes in the decision problem: `decisionMs`, or atoms of `quantiles`.",
  ],
  drop: [boolean, "Whether a query that no variant can serve in time any more is given up."],
  lateMs: optional(
    notNegative,
    "How long after its deadline a late query is answered at most, ms; where that is not " +
      "possible " +
      "it is dropped. Without it there is no bound.",
  ),
  classes: optional(
    oneOf(["auto", "shared", "separate"]),
    "How classes are served: in one queue, each by workers of its own, or by level whichever is " +
      "better. There if and only if there are `slo.classes`.",
  ),
  latencyPrice: optional(
    ratio,
    "Accuracy per query that lowering the mean latency by one SLO is worth. Left out where the " +
      "compiler chose it: latency then costs at most 0.0001 of accuracy at any level.",
  ),
});

const sample = record<NonNullable<Expected["sample"]>>({
  queries: [integerIn(1, MAX_COUNT), "Queries that were simulated."],
  violations: [
    dependent<{ readonly queries: number }, number>(count, ({ queries }) => integerIn(0, queries)),
    "Those that were late, at most `queries`.",
  ],
});

const accuracyByBatch = record<BatchDistribution["accuracy"]>({
  median: [ratio, "What at least half of the batches have; a late batch has 0."],
  p99: [ratio, "What at least 99 % of the batches have."],
});

const violationsByBatch = record<BatchDistribution["violationRate"]>({
  median: [ratio, "What at least half of the batches do not exceed."],
  p99: [ratio, "What at least 99 % of the batches do not exceed."],
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
    "What no policy exceeds per query that violates no more than what is allowed, or than this " +
      "one where it violates more.",
  ],
  servedBoundAccuracy: optional(
    ratio,
    "What no policy exceeds per query that serves every query in time.",
  ),
  sample: optional(
    sample,
    "What was counted, where the figures are from a simulation; `violationRate` is then what the " +
      "true rate hardly exceeds.",
  ),
  latencyMs: expectedLatency,
  ...paceFields,
  byBatch: [byBatch, "The same over batches instead of in the mean."],
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
  actionByState: [actionTable, "As that of the level."],
});

function levelWith(expected: Shape<Expected>): Shape<RamsisLevel> {
  return record<RamsisLevel>({
    ...levelFields(
      "True only if `loadQps` is at most `capacityQps` and the expected violation rate, of every " +
        "class, and the expected latencies are within what the SLO allows.",
      "The rate that the fastest variant carries when every batch just meets the SLO; 0 if none " +
        "does.",
    ),
    marginMs: optional(
      notNegative,
      "What the tables of this level leave to the serving path of a query, ms; left out where " +
        "that " +
        "is `cluster.serving.marginMs`. A lookup subtracts what it is more than that from the " +
        "slack.",
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
  marginMs: optional(notNegative, "As in a level."),
  actionByState: [actionTable, "As in a level."],
  classTables,
  bucketTables,
  mixture: [orNull(mixture), "As in a level."],
});

const expected: Shape<Expected> = { ...record<ExpectedOfAll>(expectedFields) };
const levels = levelsOf(levelWith(expected));

/** Figures of each class besides. */
function levelsOfClasses(names: readonly string[]): Shape<readonly RamsisLevel[]> {
  const byClass = mapOf(names, classExpected);
  const meaning = "The same by the names of the classes, if and only if there are any.";
  const fields = { ...expectedFields, byClass: optional(byClass, meaning) };
  return levelsOf(levelWith(record<Expected>(fields, ["byClass"])));
}

export const ramsisBundle = record<RamsisBundle>({
  application,
  method: [oneOf(["ramsis"]), METHOD],
  slo: [sloWithClasses, "Objective of the policy."],
  arrivals,
  cluster: clusterOf(1),
  tasks: [listOf([1, 1], task), "The one model endpoint that is decided for."],
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
    "What to do on slower machines, ascending by `pace`, and of one pace by `loadQps`.",
  ),
  provenance,
});

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readRamsisBundle(value: unknown): RamsisBundle {
  const bundle = ramsisBundle.read(value, "");
  checkRamsisSemantics(bundle);
  return bundle;
}
