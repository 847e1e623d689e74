/** Fields that bundles of several pipeline methods share. */
import { count, profileReference, ratio, serviceTimes, solverName } from "./common-fields.ts";
import { integerIn, listOf, numberIn, oneOf, or, orNull, text } from "./fields.ts";
import { MAX_FANOUT, MAX_POOLS, MAX_TASKS, MAX_WINDOW } from "./limits.ts";
import { type Field, type Fields, optional, record } from "./record.ts";
import type {
  Branch,
  Feed,
  PoolProfile,
  ProvisioningReport,
  StageEdge,
  StageTask,
  StageVariant,
} from "./schema.ts";
import { table } from "./tables.ts";

/** Also the largest index. */
export const MAX_NODES = 100_000;
const MAX_FED = 256;

/** Checked against the indexed list once that has been read. */
export const index = integerIn(0, MAX_NODES);

const fedInput = record<Feed["inputs"][number]>({
  input: [text, "A tensor that this task's models take."],
  output: [text, "The parent's output that it takes its value from."],
});

const passedInput = record<NonNullable<Feed["passed"]>[number]>({
  input: [text, "A tensor that this task's models take."],
  parentInput: [text, "The parent's input that it has the value of."],
});

const feed = record<Feed>({
  inputs: [listOf([0, MAX_FED], fedInput), "Inputs that come from the parent."],
  passed: optional(
    listOf([1, MAX_FED], passedInput),
    "Inputs of the parent that are passed on, as it was given them: each row of this task has " +
      "that of the parent's row which it was made of; left out if nothing is passed on.",
  ),
  count: [
    orNull(text),
    "The parent's int64 output with the number of rows of this task for each of its rows; nil " +
      "for one each.",
  ],
});

/** Source of the tensors of a task. */
export const feedField: Field<Feed | null> = [
  orNull(feed),
  "How tensors come here from the parent; nil for edges from the requests, or if no " +
    "model is served.",
];

const branch = oneOf<Branch>(["independent", "exclusive"]);
export const entryBranch: Field<Branch> = [
  branch,
  "How requests choose among their edges, as `branch` of a task.",
];

const edge = record<StageEdge>({
  parent: [orNull(index), "Index of the earlier task that it comes from; nil for the requests."],
  share: [ratio, "Probability that a query of the parent, or a request, takes the edge."],
  feed: feedField,
  fanout: optional(
    numberIn(0, MAX_FANOUT),
    "Mean rows that a query of the parent sends if it takes the edge, each a query of this task; " +
      "left out if it passes itself on, at most once.",
  ),
  gather: optional(
    or("all", integerIn(1, MAX_WINDOW)),
    "Joins the rows that an earlier fan-out made of one row: `all` of them are one query of this " +
      "task, or each so many in their order; left out where rows stay what they are.",
  ),
});

export const taskName: Field<string> = [text, "Unique in the bundle."];

/** Position of a task among the stages. */
export const stageFields: Fields<Pick<StageTask, "name" | "edges" | "branch">> = {
  name: taskName,
  edges: [
    listOf([1, MAX_TASKS], edge),
    "Edges that lead here, strictly ascending in `parent`. With several the task is a join.",
  ],
  branch: [
    branch,
    "How a query of this task chooses among the edges that lead away: each by a chance of its " +
      "own, or at most one.",
  ],
};

const poolProfile = record<PoolProfile>({
  profile: [profileReference, "Source of the measurements."],
  batches: [table("uint16", ["rowCount"]), "The batch sizes that were measured, ascending."],
  latencyMs: [table("float64", ["rowCount"]), "Their latencies as measured, each a time."],
  serviceTimes: [serviceTimes, "Times of this variant alone, for every batch up to the largest."],
});

/** Measurements of a variant on the hardware of each pool. */
export const poolProfiles: Field<StageVariant["profiles"]> = [
  listOf([1, MAX_POOLS], orNull(poolProfile)),
  "Measurements by pool, in their order; nil if the variant cannot run there.",
];

/** How plans were found. */
export const planReportFields: Fields<Pick<ProvisioningReport, "method" | "status">> = {
  method: solverName,
  status: [
    oneOf(["optimal", "feasible", "infeasible"]),
    "Proof; infeasible only if the level is not feasible.",
  ],
};

export const evaluations: Field<number> = [count, "Plans simulated, in part or whole."];
