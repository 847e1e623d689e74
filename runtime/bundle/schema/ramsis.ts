/** Bundle of RAMSIS: one model endpoint, whose tables choose variant and batch. */
import type {
  CommonFields,
  DecisionSpace,
  ExpectedTimes,
  ModelFile,
  PacePromises,
  ProfileReference,
  ServiceTimes,
  Table,
} from "./common.ts";

/** One model endpoint: tables choose the variant and the batch. */
export interface RamsisBundle extends CommonFields {
  readonly method: "ramsis";
  /** A single task: RAMSIS decides for one model endpoint. */
  readonly tasks: readonly Task[];
  readonly policy: RamsisOptions;
  readonly decisionSpace: DecisionSpace;
  /**
   * Axes of the tables of single classes, in the order of `slo.classes`; left out without classes.
   */
  readonly classSpaces?: readonly ClassSpace[];
  /**
   * Two or more, if an open axis of the inputs has a list of sizes: only requests of one bucket are
   * batched together. In the order of the product of the axes, the first axis slowest, so the last
   * is the largest, to which `tasks` and `decisionSpace` belong. Otherwise left out.
   */
  readonly buckets?: readonly Bucket[];
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly RamsisLevel[];
  /** Levels for slower machines, ascending by pace, and within a pace by load; optional. */
  readonly paceLevels?: readonly RamsisPaceLevel[];
}

/** Tables of a load for a machine whose service times are `pace` times the profile. */
export interface RamsisPaceLevel
  extends Pick<
    RamsisLevel,
    "loadQps" | "marginMs" | "actionByState" | "classTables" | "bucketTables" | "mixture"
  > {
  /** Above 1. */
  readonly pace: number;
}

export interface Task {
  readonly name: string;
  readonly variants: readonly Variant[];
  readonly serviceTimes: ServiceTimes;
}

export interface Variant {
  readonly name: string;
  /** Measured accuracy, 0..1. */
  readonly accuracy: number;
  /**
   * Whether another variant is at least as accurate and at least as fast at every batch size; such
   * a variant is never chosen.
   */
  readonly dominated: boolean;
  readonly model: ModelFile | null;
  readonly profile: ProfileReference;
}

/** Options of the RAMSIS solver, every field explicit. */
export interface RamsisOptions {
  readonly objective: "per-query" | "per-decision";
  readonly discretization: Discretization;
  /** Maximal: a batch takes all waiting queries. Variable: any number of them. */
  readonly batching: "maximal" | "variable";
  /**
   * Largest number of queries waiting for one worker that is a state of its own; with the pooled
   * balancer, the largest batch.
   */
  readonly maxQueue: number;
  readonly balancer: Balancer;
  /**
   * Duration of a batch in the decision problem: `decisionMs`, or atoms of the measured
   * distribution.
   */
  readonly serviceTimes: "p95" | "quantiles";
  /** Whether a query that no variant can serve in time is given up instead of served late. */
  readonly drop: boolean;
  /**
   * Longest time after its deadline at which a late query is answered, ms; later ones are dropped.
   * Left out if late queries are dropped at once, and in bundles without a bound.
   */
  readonly lateMs?: number;
  /**
   * How classes are served: in one queue, each by workers of its own, or per level the better of
   * the two. Left out with a single SLO.
   */
  readonly classes?: "auto" | "shared" | "separate";
  /**
   * Accuracy per query that a reduction of the mean latency by one SLO is worth. Left out if the
   * compiler chose it: then latency costs at most 1e-4 of accuracy at any level.
   */
  readonly latencyPrice?: number;
}

export type Discretization =
  | { readonly kind: "fixed"; readonly steps: number }
  /** A grid entry for each service time that can be a deadline's. Source: RAMSIS §4.2.2. */
  | { readonly kind: "model-based" };

/**
 * How queries reach workers. Round-robin and shortest-queue bind a query to a worker when it
 * arrives; pooled keeps one queue for all, and binds when a worker is free.
 */
type Balancer = "round-robin" | "shortest-queue" | "pooled";

/** Axes of the tables of one class; their actions are those of the decision space. */
export interface ClassSpace {
  /** Like that of the decision space, for the queue of the class. */
  readonly maxQueue: number;
  /** Like that of the decision space. */
  readonly queued?: Table;
  /** float64 [slackCount]: ascending from 0 to the SLO of the class. */
  readonly slackMs: Table;
}

/** Requests that are padded to the same sizes: their share, times and the axes of their tables. */
export interface Bucket extends ClassSpace {
  /** Its sizes in the order of the axes, such as `160` or `48x160`. */
  readonly name: string;
  /** Share of the load; the shares of all buckets sum to 1. */
  readonly share: number;
  /** Same shape as those of the task. */
  readonly serviceTimes: ServiceTimes;
}

export interface RamsisLevel {
  readonly loadQps: number;
  /**
   * Whether the load is within capacity, the expected violation rate within `violationCeiling` and
   * the expected latencies within the limits of the SLO.
   */
  readonly feasible: boolean;
  /** Load the fastest variant can carry when every batch just meets the SLO. */
  readonly capacityQps: number;
  /**
   * Time that its tables leave to the serving path of a query, ms, if more than
   * `cluster.serving.marginMs`.
   */
  readonly marginMs?: number;
  readonly expected: Expected;
  readonly solve: SolveReport;
  /**
   * uint16 [rowCount, slackCount]: index into `decisionSpace.actions`; with the pooled balancer
   * also NO_ACTION and GIVE_UP. With classes, the table of one queue for all of them.
   */
  readonly actionByState: Table;
  /**
   * Tables for a queue and workers of each class, in the order of `slo.classes`; left out if this
   * level uses one queue for all.
   */
  readonly classTables?: readonly ClassTable[];
  /**
   * Tables for the queues of the buckets, if any: uint16 [rowCount, slackCount] of each bucket's
   * axes, like `actionByState`, which is that of the last bucket.
   */
  readonly bucketTables?: readonly Table[];
  /**
   * A second table that answers a share of the decisions, chosen at random, so that a violation
   * ceiling is met at the best accuracy; or null.
   */
  readonly mixture: Mixture | null;
}

/** Service of one class with its own workers. */
export interface ClassTable {
  /** Number of its workers; those of all classes sum to the workers of the cluster. */
  readonly workers: number;
  /** uint16 [rowCount, slackCount] of the class's space, like `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

export interface Mixture {
  /** Its share of the decisions, in (0, 1). */
  readonly share: number;
  /** Same form as `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

/** Guarantees of a policy in steady state (RAMSIS §5.1), weighted by queries. */
export interface Expected extends PacePromises, ExpectedTimes {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /**
   * Upper bound on the accuracy per query at this load of any policy whose violation rate is at
   * most the ceiling, or this policy's if that is higher: the optimum of the fluid relaxation.
   */
  readonly upperBoundAccuracy: number;
  /**
   * The same bound for policies that serve every query in time; left out in bundles with one bound
   * only.
   */
  readonly servedBoundAccuracy?: number;
  /**
   * Counts of the simulation that the figures are from, if any; `violationRate` is then an upper
   * confidence bound of the true rate.
   */
  readonly sample?: { readonly queries: number; readonly violations: number };
  /** Distribution over batches instead of the mean. */
  readonly byBatch: BatchDistribution;
  /** The same figures by class name, with classes only. */
  readonly byClass?: Readonly<Record<string, ClassExpected>>;
  /** The same figures for each bucket, with buckets only. */
  readonly byBucket?: readonly ClassExpected[];
}

/** Figures of the queries of one class. */
export interface ClassExpected {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
}

export interface BatchDistribution {
  /** Accuracy that at least half, and at least 99 %, of the batches reach; 0 for a late batch. */
  readonly accuracy: { readonly median: number; readonly p99: number };
  /**
   * Violation rate of a batch, 0 or 1, that at least half, and at least 99 %, of the batches do not
   * exceed.
   */
  readonly violationRate: { readonly median: number; readonly p99: number };
}

/**
 * How the solver arrived at a level; wall time is reported by `compile` but kept out of the bundle,
 * whose bytes are reproducible.
 */
export interface SolveReport {
  readonly method: string;
  readonly iterations: number;
  /** Span of the last Bellman residual. */
  readonly residual: number;
  readonly states: number;
}

/**
 * Values of the actions of one state: a solver computes them from a bundle, which does not contain
 * them.
 */
export interface ActionValues {
  /**
   * Advantages are right answers (queries weighted by accuracy) over all the future or, with the
   * paper's objective, decisions weighted by accuracy; for a pooled policy, right answers less the
   * price of the workers' time.
   */
  readonly unit: "queries" | "decisions" | "accuracy less price";
  /** Every admissible action and the table's, best first; among equals the table's first. */
  readonly actions: readonly ActionValue[];
}

export interface ActionValue {
  /** Index of the variant. */
  readonly variant: number;
  readonly batch: number;
  /**
   * Gain of this action over the best one, if the table decides from the next decision on; at most
   * 0.
   */
  readonly advantage: number;
}

/** Why the actions of a state have no comparable values. */
export interface NoActionValues {
  readonly reason: string;
}
