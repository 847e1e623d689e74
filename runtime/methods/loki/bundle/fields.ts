/** A Loki bundle: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrivalsOf,
  clusterOf,
  decisionSpaceOf,
  MAX_LEVELS,
  MAX_MS,
  MAX_POOLS,
  MAX_QPS,
  MAX_QUEUE,
  MAX_VARIANTS,
  MAX_WORKERS,
  milliseconds,
  modelFileOf,
  provenanceOf,
  ratio,
  serviceTimesOf,
  sloOf,
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
  feedOf,
  indexOf,
  MAX_NODES,
  MAX_TASKS,
  poolProfileOf,
} from "../../../bundle/pipeline-fields.ts";
import type {
  Leaf,
  LokiBundle,
  LokiLevel,
  LokiOptions,
  PipelineExpected,
  PipelinePlan,
  PipelineTask,
  PipelineVariant,
  PlanNode,
  PlannedInstance,
  PlanReport,
  StagePolicy,
  Transition,
} from "../../../bundle/schema.ts";

/** Mean queries of one query: a product of them stays far from the limits of a float64. */
const MAX_FANOUT = 1e6;
const MAX_HEADROOM = 100;
const MAX_COUNT = 2 ** 32 - 1;
const MAX_DEPTH = 15;

export function lokiBundleOf(value: unknown): LokiBundle {
  const fields = objectOf(value, "", [
    "application",
    "arrivals",
    "cluster",
    "leaves",
    "levels",
    "method",
    "policy",
    "provenance",
    "slo",
    "tasks",
  ]);
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["loki"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", MAX_POOLS),
    tasks: arrayOf(fields.tasks, "tasks", [1, MAX_TASKS], taskOf),
    leaves: arrayOf(fields.leaves, "leaves", [1, MAX_TASKS], leafOf),
    policy: policyOf(fields.policy, "policy"),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
}

function taskOf(value: unknown, path: string): PipelineTask {
  const fields = objectOf(value, path, ["entryShare", "feed", "name", "parent", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    parent: nullOr(fields.parent, `${path}.parent`, indexOf),
    entryShare: ratio(fields.entryShare, `${path}.entryShare`),
    feed: nullOr(fields.feed, `${path}.feed`, feedOf),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, MAX_VARIANTS], variantOf),
  });
}

function variantOf(value: unknown, path: string): PipelineVariant {
  const fields = objectOf(value, path, ["accuracy", "fanouts", "model", "name", "profiles"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    fanouts: arrayOf(fields.fanouts, `${path}.fanouts`, [0, MAX_TASKS], (fanout, at) =>
      numberIn(fanout, at, 0, MAX_FANOUT),
    ),
    profiles: arrayOf(fields.profiles, `${path}.profiles`, [1, MAX_POOLS], (profile, at) =>
      nullOr(profile, at, poolProfileOf),
    ),
  });
}

function leafOf(value: unknown, path: string): Leaf {
  const fields = objectOf(value, path, ["accuracyByPath", "task", "weight"]);
  const rank = (fields.accuracyByPath as { shape?: { length?: unknown } } | null)?.shape?.length;
  const tablePath = `${path}.accuracyByPath`;
  return Object.freeze({
    task: indexOf(fields.task, `${path}.task`),
    weight: ratio(fields.weight, `${path}.weight`),
    accuracyByPath: tableOf(
      fields.accuracyByPath,
      tablePath,
      "float64",
      integerIn(rank ?? 0, `${tablePath}.shape.length`, 1, MAX_DEPTH),
    ),
  });
}

function policyOf(value: unknown, path: string): LokiOptions {
  const fields = objectOf(value, path, [
    "drop",
    "headroom",
    "modelLoadMs",
    "oneBatchPerVariant",
    "routing",
    "sloFraction",
    "solveLimitMs",
    "solver",
    "stagePolicy",
  ]);
  return Object.freeze({
    sloFraction: positive(fields.sloFraction, `${path}.sloFraction`, 1),
    headroom:
      fields.headroom === "auto"
        ? fields.headroom
        : numberIn(fields.headroom, `${path}.headroom`, 0, MAX_HEADROOM),
    oneBatchPerVariant: boolean(fields.oneBatchPerVariant, `${path}.oneBatchPerVariant`),
    solver: oneOf(fields.solver, `${path}.solver`, ["auto", "glpk", "highs"]),
    solveLimitMs: milliseconds(fields.solveLimitMs, `${path}.solveLimitMs`),
    routing: oneOf(fields.routing, `${path}.routing`, ["auto", "plan", "most-accurate-first"]),
    drop: oneOf(fields.drop, `${path}.drop`, [
      "none",
      "last-task",
      "per-task",
      "reroute",
      "deadline",
    ]),
    stagePolicy: oneOf(fields.stagePolicy, `${path}.stagePolicy`, ["fixed", "ramsis"]),
    modelLoadMs: numberIn(fields.modelLoadMs, `${path}.modelLoadMs`, 0, MAX_MS),
  });
}

function levelOf(value: unknown, path: string): LokiLevel {
  const fields = objectOf(value, path, [
    "capacityQps",
    "expected",
    "feasible",
    "loadQps",
    "plan",
    "solve",
    "stages",
    "transition",
  ]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    plan: planOf(fields.plan, `${path}.plan`),
    stages: nullOr(fields.stages, `${path}.stages`, (stages, at) =>
      arrayOf(stages, at, [1, MAX_TASKS], (stage, stagePath) => nullOr(stage, stagePath, stageOf)),
    ),
    transition: transitionOf(fields.transition, `${path}.transition`),
    expected: expectedOf(fields.expected, `${path}.expected`),
    solve: reportOf(fields.solve, `${path}.solve`),
  });
}

function planOf(value: unknown, path: string): PipelinePlan {
  const fields = objectOf(value, path, [
    "accuracy",
    "demandQps",
    "instances",
    "nodes",
    "servers",
    "step",
  ]);
  return Object.freeze({
    step: oneOf(fields.step, `${path}.step`, ["hardware", "accuracy"]),
    demandQps: positive(fields.demandQps, `${path}.demandQps`, MAX_QPS),
    servers: integerIn(fields.servers, `${path}.servers`, 1, MAX_WORKERS),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    instances: arrayOf(fields.instances, `${path}.instances`, [1, MAX_NODES], instanceOf),
    nodes: arrayOf(fields.nodes, `${path}.nodes`, [1, MAX_NODES], nodeOf),
  });
}

function instanceOf(value: unknown, path: string): PlannedInstance {
  const fields = objectOf(value, path, [
    "batch",
    "latencyMs",
    "pool",
    "replicas",
    "task",
    "throughputQps",
    "variant",
  ]);
  return Object.freeze({
    task: indexOf(fields.task, `${path}.task`),
    variant: indexOf(fields.variant, `${path}.variant`),
    pool: indexOf(fields.pool, `${path}.pool`),
    batch: integerIn(fields.batch, `${path}.batch`, 1, MAX_QUEUE),
    replicas: integerIn(fields.replicas, `${path}.replicas`, 1, MAX_WORKERS),
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    throughputQps: positive(fields.throughputQps, `${path}.throughputQps`, MAX_QPS),
  });
}

function nodeOf(value: unknown, path: string): PlanNode {
  const fields = objectOf(value, path, ["instance", "parent", "ratio"]);
  return Object.freeze({
    parent: nullOr(fields.parent, `${path}.parent`, indexOf),
    instance: indexOf(fields.instance, `${path}.instance`),
    ratio: ratio(fields.ratio, `${path}.ratio`),
  });
}

function stageOf(value: unknown, path: string): StagePolicy {
  const fields = objectOf(value, path, [
    "actionByState",
    "budgetMs",
    "decisionSpace",
    "serviceTimes",
  ]);
  return Object.freeze({
    budgetMs: milliseconds(fields.budgetMs, `${path}.budgetMs`),
    serviceTimes: serviceTimesOf(fields.serviceTimes, `${path}.serviceTimes`),
    decisionSpace: decisionSpaceOf(fields.decisionSpace, `${path}.decisionSpace`),
    actionByState: tableOf(fields.actionByState, `${path}.actionByState`, "uint16", 2),
  });
}

function transitionOf(value: unknown, path: string): Transition {
  const fields = objectOf(value, path, ["modelLoadsFromAbove", "modelLoadsFromBelow"]);
  const loads = (count: unknown, at: string): number => integerIn(count, at, 0, MAX_WORKERS);
  return Object.freeze({
    modelLoadsFromBelow: nullOr(fields.modelLoadsFromBelow, `${path}.modelLoadsFromBelow`, loads),
    modelLoadsFromAbove: nullOr(fields.modelLoadsFromAbove, `${path}.modelLoadsFromAbove`, loads),
  });
}

function expectedOf(value: unknown, path: string): PipelineExpected {
  const fields = objectOf(value, path, [
    "accuracyPerQuery",
    "accuracyPerSatisfied",
    "durationMs",
    "latencyMsP50",
    "latencyMsP99",
    "seed",
    "violationRate",
  ]);
  return Object.freeze({
    accuracyPerSatisfied: ratio(fields.accuracyPerSatisfied, `${path}.accuracyPerSatisfied`),
    accuracyPerQuery: ratio(fields.accuracyPerQuery, `${path}.accuracyPerQuery`),
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    latencyMsP50: numberIn(fields.latencyMsP50, `${path}.latencyMsP50`, 0, MAX_MS),
    latencyMsP99: numberIn(fields.latencyMsP99, `${path}.latencyMsP99`, 0, MAX_MS),
    seed: integerIn(fields.seed, `${path}.seed`, 0, MAX_COUNT),
    durationMs: milliseconds(fields.durationMs, `${path}.durationMs`),
  });
}

function reportOf(value: unknown, path: string): PlanReport {
  const fields = objectOf(value, path, ["columns", "gap", "method", "nodes", "rows", "status"]);
  const count = (item: unknown, at: string): number => integerIn(item, at, 0, MAX_COUNT);
  return Object.freeze({
    method: text(fields.method, `${path}.method`),
    status: oneOf(fields.status, `${path}.status`, ["optimal", "feasible"]),
    gap: numberIn(fields.gap, `${path}.gap`, 0, MAX_WORKERS),
    rows: count(fields.rows, `${path}.rows`),
    columns: count(fields.columns, `${path}.columns`),
    nodes: count(fields.nodes, `${path}.nodes`),
  });
}
