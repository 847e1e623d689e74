/** The tables of a Loki bundle: its records, field by field. */

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
  durationMs,
  latencyFields,
  levelFields,
  levelsOf,
  METHOD,
  milliseconds,
  millisecondsOr0,
  model,
  pace,
  paceFields,
  provenance,
  rate,
  ratio,
  seed,
  serviceTimes,
  slo,
  solverName,
  span,
  startFrom,
  throughput,
  variantName,
  workerCount,
} from "../../../bundle/common-fields.ts";
import {
  boolean,
  integerIn,
  listOf,
  numberIn,
  oneOf,
  or,
  orNull,
  positive,
  type Shape,
} from "../../../bundle/fields.ts";
import {
  MAX_FANOUT,
  MAX_HEADROOM,
  MAX_LEVELS,
  MAX_POOLS,
  MAX_TASKS,
  MAX_VARIANTS,
  MAX_WORKERS,
} from "../../../bundle/limits.ts";
import {
  feedField,
  index,
  MAX_NODES,
  poolProfiles,
  taskName,
} from "../../../bundle/pipeline-fields.ts";
import { optional, record } from "../../../bundle/record.ts";
import type {
  Leaf,
  LokiBundle,
  LokiLevel,
  LokiOptions,
  LokiPaceLevel,
  PipelineExpected,
  PipelinePlan,
  PipelineTask,
  PipelineVariant,
  PlanNode,
  PlannedInstance,
  PlanReport,
  StagePolicy,
  Table,
  Transition,
} from "../../../bundle/schema.ts";
import { table } from "../../../bundle/tables.ts";
import { checkLokiSemantics } from "./semantics.ts";

const MAX_DEPTH = 15;

const variant = record<PipelineVariant>({
  name: variantName,
  accuracy,
  model,
  fanouts: [
    listOf([0, MAX_TASKS], numberIn(0, MAX_FANOUT)),
    "Mean queries that a served query sends to each task that has this one as its parent, in " +
      "their order, shares of edges included.",
  ],
  profiles: poolProfiles,
});

const task = record<PipelineTask>({
  name: taskName,
  parent: [
    orNull(index),
    "Index of the task whose outputs are this one's queries; nil for an entry, whose queries are " +
      "the requests.",
  ],
  entryShare: [ratio, "Mean queries that reach an entry per request; 1 for any other task."],
  feed: feedField,
  variants: [listOf([1, MAX_VARIANTS], variant), "Plans refer to their index."],
});

const rank = integerIn(1, MAX_DEPTH);

/** A table with an axis for each task of a path. */
const pathTable: Shape<Table> = {
  words: `float64, 1 to ${MAX_DEPTH} axes`,
  read(value, path) {
    const found = (value as { shape?: { length?: unknown } } | null | undefined)?.shape?.length;
    const axes = rank.read(found ?? 0, `${path}.shape.length`);
    return table("float64", new Array<string>(axes).fill("")).read(value, path);
  },
};

const leaf = record<Leaf>({
  task: [index, "Index of the task."],
  weight: [ratio, "Weight of its accuracy in that of the pipeline; the weights sum to 1."],
  accuracyByPath: [
    orNull(pathTable),
    "End-to-end accuracy of every path, a ratio: an axis for each task from the entry to the " +
      "leaf, its variants along it; nil for the product of the accuracies of a path's variants.",
  ],
});

const options = record<LokiOptions>({
  sloFraction: [
    positive(1),
    "Part of the SLO that execution and communication may use; the rest is for waiting.",
  ],
  headroom: [
    or("auto", numberIn(0, MAX_HEADROOM)),
    "Throughput of plans beyond the load of their level, relative to it; auto: as little as a " +
      "simulation of the level allows.",
  ],
  oneBatchPerVariant: [boolean, "Whether a variant has one batch size in a plan."],
  solver: [oneOf(["auto", "glpk", "highs"]), "Solver of the plans."],
  solveLimitMs: [span, "Longest time for one optimisation."],
  routing: [
    oneOf(["auto", "plan", "most-accurate-first"]),
    "In the shares of the plan's paths, or to the most accurate server with capacity; auto: the " +
      "plan while the load is near the one it was made for.",
  ],
  drop: [
    oneOf(["none", "last-task", "per-task", "reroute", "deadline"]),
    "When a query is given up, or rerouted.",
  ],
  stagePolicy: [
    oneOf(["fixed", "ramsis"]),
    "Whether a server runs its variant, or a table chooses the variant of each batch.",
  ],
  modelLoadMs: [millisecondsOr0, "Time to load another variant."],
  startFrom: startFrom("modelLoadMs"),
});

const instance = record<PlannedInstance>({
  task: [index, "Index of the task."],
  variant: [index, "Index among its variants."],
  pool: [index, "Index of a pool that the variant has a profile for."],
  batch: [batchSize, "The largest batch, at most the largest of the profile."],
  replicas: [workerCount, "Number of such servers."],
  latencyMs: [span, "Time of a full batch."],
  throughputQps: [throughput, "Throughput of one server."],
});

const node = record<PlanNode>({
  parent: [orNull(index), "Index of an earlier node, of the previous task; nil at an entry."],
  instance: [index, "Index of the servers."],
  ratio: [ratio, "Share of all requests that take the path up to here."],
});

const plan = record<PipelinePlan>({
  step: [
    oneOf(["hardware", "accuracy"]),
    "Hardware: only the most accurate variants run, on the fewest servers. Accuracy: the most " +
      "accurate mix runs on all of them.",
  ],
  demandQps: [throughput, "Throughput of the plan: the load and its headroom, or the capacity."],
  servers: [workerCount, "The sum of the replicas."],
  accuracy: [ratio, "Weighted mean over leaves of the accuracy of their paths."],
  instances: [listOf([1, MAX_NODES], instance), "Servers of a pool that run one variant."],
  nodes: [listOf([1, MAX_NODES], node), "Tree of the paths that requests take, parents first."],
});

const stage = record<StagePolicy>({
  budgetMs: [
    milliseconds,
    "Part of the SLO for the task: a query's deadline is its arrival plus this.",
  ],
  serviceTimes: [serviceTimes, "Time of a batch; a row for each variant."],
  decisionSpace: [decisionSpace, "Axes of the table, with `budgetMs` in the place of the SLO."],
  actionByState: [actionTable, "Same form as in a RAMSIS level with the pooled balancer."],
});

const modelLoads = orNull(integerIn(0, MAX_WORKERS));

const transition = record<Transition>({
  modelLoadsFromBelow: [
    modelLoads,
    "Servers that have to load another model when the level follows the one below it; nil " +
      "without such a level.",
  ],
  modelLoadsFromAbove: [modelLoads, "The same from the level above."],
});

const expected = record<PipelineExpected>({
  ...accuracyFields,
  ...latencyFields,
  ...paceFields,
  seed,
  durationMs,
});

const solve = record<PlanReport>({
  method: solverName,
  status: [oneOf(["optimal", "feasible"]), "Proof."],
  gap: [
    numberIn(0, MAX_WORKERS),
    "Upper bound on the advantage of the optimum: servers in the hardware step, else accuracy.",
  ],
  rows: [count, "Constraints of the program."],
  columns: [count, "Variables of the program."],
  nodes: [count, "Nodes of the search."],
});

const level = record<LokiLevel>({
  ...levelFields(
    "Whether some plan carries the load, true only up to `capacityQps`.",
    "The largest load that some plan carries.",
  ),
  plan: [plan, "Plan to follow; beyond capacity that for the capacity, and the rest is shed."],
  stages: [
    orNull(listOf([1, MAX_TASKS], orNull(stage))),
    "For each task a RAMSIS policy for its servers, nil if they run their variants; nil if " +
      "no task has one.",
  ],
  transition: [transition, "Model loads of a change from a neighbouring level."],
  expected: [expected, "Simulation of the level at its load; a query is a request."],
  solve: [solve, "Search for the plan."],
});

const paceLevel = record<LokiPaceLevel>({
  pace,
  loadQps: [rate, "Requests per second."],
  plan: [plan, "Plan to follow; its times and rates are those of that machine."],
});

export const lokiBundle = record<LokiBundle>({
  application,
  method: [oneOf(["loki"]), METHOD],
  slo,
  arrivals,
  cluster: clusterOf(MAX_POOLS),
  tasks: [listOf([1, MAX_TASKS], task), "The tasks of the pipeline, parents before children."],
  leaves: [listOf([1, MAX_TASKS], leaf), "One for each task without children, in their order."],
  policy: [options, "Options of the solver and of the runtime that follows its plans."],
  levels: [levelsOf(level), "Levels, strictly ascending in `loadQps`."],
  paceLevels: optional(
    listOf([1, MAX_LEVELS], paceLevel),
    "Plans for slower machines, ascending by `pace` and within a pace by `loadQps`.",
  ),
  provenance,
});

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readLokiBundle(value: unknown): LokiBundle {
  const bundle = lokiBundle.read(value, "");
  checkLokiSemantics(bundle);
  return bundle;
}
