/** The bundle of RAMSIS: one model endpoint, whose tables say which variant runs which batch. */
import type {
  CommonFields,
  DecisionSpace,
  ExpectedLatency,
  ModelFile,
  PacePromises,
  ProfileReference,
  ServiceTimes,
  Table,
} from "./common.ts";

/** One model endpoint: tables say which variant runs which batch. */
export interface RamsisBundle extends CommonFields {
  readonly method: "ramsis";
  /** A single task: RAMSIS decides for one model endpoint. */
  readonly tasks: readonly Task[];
  readonly policy: RamsisOptions;
  readonly decisionSpace: DecisionSpace;
  /**
   * Axes of the tables that are made for one class alone, in the order of `slo.classes`; left out
   * where there are none.
   */
  readonly classSpaces?: readonly ClassSpace[];
  /**
   * Two or more, where an open axis of the inputs has a list of sizes: only requests of one bucket
   * are batched together. In the order of the product of the axes, the first axis slowest, so the
   * last is the largest, of which `tasks` and `decisionSpace` are. Left out where there are none.
   */
  readonly buckets?: readonly Bucket[];
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly RamsisLevel[];
  /**
   * Levels for slower machines, ascending by pace, and of one pace by load. Left out where there
   * are none.
   */
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
  /** Maximal: a batch is all that wait. Variable: any number of them. */
  readonly batching: "maximal" | "variable";
  /**
   * Queries that wait for one worker and are a state of their own at most; with the pooled
   * balancer, the largest batch.
   */
  readonly maxQueue: number;
  readonly balancer: Balancer;
  /**
   * What a batch takes in the decision problem: `decisionMs`, or atoms of the measured
   * distribution.
   */
  readonly serviceTimes: "p95" | "quantiles";
  /**
   * Whether a query that no variant can serve in time any more is given up instead of served late.
   */
  readonly drop: boolean;
  /**
   * How long after its deadline a late query is answered at most, ms; it is dropped where that is
   * not possible. Left out where late queries are dropped at once, and in bundles without a bound.
   */
  readonly lateMs?: number;
  /**
   * How classes are served: in one queue, each by workers of its own, or by level whichever is
   * better. Left out where there is one SLO.
   */
  readonly classes?: "auto" | "shared" | "separate";
  /**
   * Accuracy per query that lowering the mean latency by one SLO is worth. Left out where the
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
  /** It is as of the decision space, for the queue of the class. */
  readonly maxQueue: number;
  /** It is as of the decision space. */
  readonly queued?: Table;
  /** float64 [slackCount]: ascending from 0 to the SLO of the class. */
  readonly slackMs: Table;
}

/** Requests that are padded to the same sizes: their share, times and the axes of their tables. */
export interface Bucket extends ClassSpace {
  /** Its sizes in the order of the axes, such as `160` or `48x160`. */
  readonly name: string;
  /** Its share of the load; the shares of all buckets sum to 1. */
  readonly share: number;
  /** Of the same shape as those of the task. */
  readonly serviceTimes: ServiceTimes;
}

export interface RamsisLevel {
  readonly loadQps: number;
  /**
   * Whether the load is within capacity, the expected violation rate within `violationCeiling` and
   * the expected latencies within the targets of the SLO.
   */
  readonly feasible: boolean;
  /** Load the fastest variant can carry when every batch just meets the SLO. */
  readonly capacityQps: number;
  /**
   * What its tables leave to the serving path of a query, ms, where that is more than
   * `cluster.serving.marginMs`.
   */
  readonly marginMs?: number;
  readonly expected: Expected;
  readonly solve: SolveReport;
  /**
   * uint16 [rowCount, slackCount]: index into `decisionSpace.actions`; with the pooled balancer
   * also NO_ACTION and GIVE_UP. Where there are classes, of one queue for all of them.
   */
  readonly actionByState: Table;
  /**
   * Where each class has a queue and workers of its own at this level, in the order of
   * `slo.classes`; left out where one queue is followed.
   */
  readonly classTables?: readonly ClassTable[];
  /**
   * Where there are buckets, of each the table of its own queue: uint16 [rowCount, slackCount] of
   * its axes, as `actionByState`, which is that of the last one.
   */
  readonly bucketTables?: readonly Table[];
  /**
   * A second table that answers a share of the decisions, chosen at random, so that a violation
   * ceiling is met at the best accuracy; or null.
   */
  readonly mixture: Mixture | null;
}

/** How one class is served by itself. */
export interface ClassTable {
  /** How many workers it has; those of all classes are the workers of the cluster. */
  readonly workers: number;
  /** uint16 [rowCount, slackCount] of the class's space, as `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

export interface Mixture {
  /** Its share of the decisions, in (0, 1). */
  readonly share: number;
  /** It is as `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

/** Guarantees of a policy in steady state (RAMSIS §5.1), weighted by queries. */
export interface Expected extends PacePromises {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /**
   * No policy of any kind that violates no more than the ceiling, or than this one where it
   * violates more, has more accuracy per query at this load: the optimum of its fluid relaxation.
   */
  readonly upperBoundAccuracy: number;
  /** The same of policies that serve every query in time; absent in bundles that know one bound. */
  readonly servedBoundAccuracy?: number;
  /**
   * What was counted, where the figures are from a simulation; `violationRate` is what the true
   * rate hardly exceeds.
   */
  readonly sample?: { readonly queries: number; readonly violations: number };
  /** Left out by compilers before edition 1.8. */
  readonly latencyMs?: ExpectedLatency;
  /** The same over batches instead of in the mean. */
  readonly byBatch: BatchDistribution;
  /** The same by the names of the classes, where there are any. */
  readonly byClass?: Readonly<Record<string, ClassExpected>>;
  /** The same of each bucket, where there are any. */
  readonly byBucket?: readonly ClassExpected[];
}

/** What holds for the queries of one class. */
export interface ClassExpected {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
}

export interface BatchDistribution {
  /**
   * Accuracy that at least half, and at least 99 %, of the batches have; 0 for a batch that is
   * late.
   */
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
 * What the actions of one state are worth: a solver computes it from a bundle, which does not hold
 * it.
 */
export interface ActionValues {
  /**
   * Advantages are right answers (queries weighted by accuracy) over all the future or, with the
   * paper's objective, decisions weighted by accuracy; of a pooled policy, right answers less the
   * price of the workers' time.
   */
  readonly unit: "queries" | "decisions" | "accuracy less price";
  /** Every admissible action and the table's, best first; of equals the table's. */
  readonly actions: readonly ActionValue[];
}

export interface ActionValue {
  /** Index of the variant. */
  readonly variant: number;
  readonly batch: number;
  /**
   * What is gained by this action instead of the best, the table deciding from the next decision
   * on; at most 0.
   */
  readonly advantage: number;
}

/** Why a state's actions have no values that could be compared. */
export interface NoActionValues {
  readonly reason: string;
}
