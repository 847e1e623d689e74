/** A RAMSIS bundle: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrivalsOf,
  clusterOf,
  decisionSpaceOf,
  MAX_LEVELS,
  MAX_QPS,
  MAX_QUEUE,
  MAX_VARIANTS,
  modelFileOf,
  profileOf,
  provenanceOf,
  ratio,
  serviceTimesOf,
} from "../../../bundle/common-fields.ts";
import {
  arrayOf,
  boolean,
  integerIn,
  nullOr,
  numberBetween,
  numberIn,
  objectOf,
  oneOf,
  positive,
  tableOf,
  text,
} from "../../../bundle/fields.ts";
import type {
  BatchDistribution,
  Discretization,
  Expected,
  Mixture,
  RamsisBundle,
  RamsisLevel,
  RamsisOptions,
  SloClass,
  SolveReport,
  Task,
  Variant,
} from "../../../bundle/schema.ts";
import {
  classExpectationsOf,
  classSpacesOf,
  classTablesOf,
  sloWithClassesOf,
} from "./class-fields.ts";

export function ramsisBundleOf(value: unknown): RamsisBundle {
  const fields = objectOf(
    value,
    "",
    [
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
    ],
    ["classSpaces"],
  );
  const slo = sloWithClassesOf(fields.slo, "slo");
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["ramsis"]),
    slo,
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", 1),
    tasks: arrayOf(fields.tasks, "tasks", [1, 1], taskOf),
    policy: policyOf(fields.policy, "policy"),
    decisionSpace: decisionSpaceOf(fields.decisionSpace, "decisionSpace"),
    ...classSpacesOf(fields.classSpaces),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], (level, path) =>
      levelOf(level, path, slo.classes),
    ),
    provenance: provenanceOf(fields.provenance, "provenance"),
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

function policyOf(value: unknown, path: string): RamsisOptions {
  const fields = objectOf(
    value,
    path,
    ["balancer", "batching", "discretization", "drop", "maxQueue", "objective", "serviceTimes"],
    ["classes"],
  );
  const { classes } = fields;
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
    ...(classes === undefined
      ? {}
      : { classes: oneOf(classes, `${path}.classes`, ["auto", "shared", "separate"]) }),
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

function levelOf(
  value: unknown,
  path: string,
  classes: readonly SloClass[] | undefined,
): RamsisLevel {
  const fields = objectOf(
    value,
    path,
    ["actionByState", "capacityQps", "expected", "feasible", "loadQps", "mixture", "solve"],
    ["classTables"],
  );
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    expected: expectedOf(fields.expected, `${path}.expected`, classes),
    solve: solveOf(fields.solve, `${path}.solve`),
    actionByState: tableOf(fields.actionByState, `${path}.actionByState`, "uint16", 2),
    ...classTablesOf(fields.classTables, `${path}.classTables`),
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

function expectedOf(
  value: unknown,
  path: string,
  classes: readonly SloClass[] | undefined,
): Expected {
  const fields = objectOf(
    value,
    path,
    ["accuracyPerQuery", "accuracyPerSatisfied", "byBatch", "upperBoundAccuracy", "violationRate"],
    ["sample", "servedBoundAccuracy", ...(classes === undefined ? [] : (["byClass"] as const))],
  );
  return Object.freeze({
    accuracyPerSatisfied: ratio(fields.accuracyPerSatisfied, `${path}.accuracyPerSatisfied`),
    accuracyPerQuery: ratio(fields.accuracyPerQuery, `${path}.accuracyPerQuery`),
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    upperBoundAccuracy: ratio(fields.upperBoundAccuracy, `${path}.upperBoundAccuracy`),
    ...(fields.servedBoundAccuracy === undefined
      ? {}
      : {
          servedBoundAccuracy: ratio(fields.servedBoundAccuracy, `${path}.servedBoundAccuracy`),
        }),
    ...(fields.sample === undefined ? {} : { sample: sampleOf(fields.sample, `${path}.sample`) }),
    byBatch: batchDistributionOf(fields.byBatch, `${path}.byBatch`),
    ...classExpectationsOf(fields.byClass, `${path}.byClass`, classes),
  });
}

function sampleOf(value: unknown, path: string): NonNullable<Expected["sample"]> {
  const fields = objectOf(value, path, ["queries", "violations"]);
  const queries = integerIn(fields.queries, `${path}.queries`, 1, 2 ** 32 - 1);
  const violations = integerIn(fields.violations, `${path}.violations`, 0, queries);
  return Object.freeze({ queries, violations });
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
