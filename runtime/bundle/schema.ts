/**
 * The policy bundle: the one contract between compiler and runtime.
 *
 * These are the decoded, in-memory types; `docs/bundle-format.md` specifies the bytes. Times are milliseconds, rates queries per second, ratios 0..1.
 */

/** Version of the file format this build writes, and the newest one it reads. */
export const FORMAT_VERSION = 1;

/** Cell of an action table that holds no decision: for a pooled queue, to wait. */
export const NO_ACTION = 0xffff;
/** Cell of a pooled table that gives the earliest query up: to serve it in time would cost more than it is worth. It is served late, or not at all. */
export const GIVE_UP = 0xfffe;

/** What to do at every load, by the system that computed it. */
export type Bundle = RamsisBundle | LokiBundle | InferlineBundle | ThemisBundle | AccordionBundle;

export type Level = RamsisLevel | LokiLevel | InferlineLevel | ThemisLevel | AccordionLevel;

interface CommonFields {
  readonly application: string;
  readonly slo: Slo;
  readonly arrivals: ArrivalModel;
  readonly cluster: Cluster;
  readonly provenance: Provenance;
}

/** One model endpoint: tables say which variant runs which batch. */
export interface RamsisBundle extends CommonFields {
  readonly method: "ramsis";
  /** A single task: RAMSIS decides for one model endpoint. */
  readonly tasks: readonly Task[];
  readonly policy: RamsisOptions;
  readonly decisionSpace: DecisionSpace;
  /** Axes of the tables that are made for one class alone, in the order of `slo.classes`; left out where there are none. */
  readonly classSpaces?: readonly ClassSpace[];
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly RamsisLevel[];
}

/** A pipeline: plans say which servers run which variant, and which path a request takes. */
export interface LokiBundle extends CommonFields {
  readonly method: "loki";
  /** Parents before their children. A task that only passes requests on is left out: its children take its place. */
  readonly tasks: readonly PipelineTask[];
  /** One for each task without children, in their order. */
  readonly leaves: readonly Leaf[];
  readonly policy: LokiOptions;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly LokiLevel[];
}

/** A pipeline whose stages run one model each: plans say on which hardware, in what batches and on how many replicas. */
export interface InferlineBundle extends CommonFields {
  readonly method: "inferline";
  /** Parents before their children; ties of a simulation are broken in this order. A root that only passes requests on is left out. */
  readonly tasks: readonly StageTask[];
  /** Whether a request goes to at most one of the entries. */
  readonly entryBranch: Branch;
  readonly policy: InferlineOptions;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly InferlineLevel[];
}

/** A pipeline whose stages run one model each: plans say on how many instances of how many cores, and in what batches; and how one becomes another. */
export interface ThemisBundle extends CommonFields {
  readonly method: "themis";
  /** Parents before their children. A root that only passes requests on is left out. */
  readonly tasks: readonly ScaledTask[];
  /** Whether a request goes to at most one of the entries. */
  readonly entryBranch: Branch;
  readonly policy: ThemisOptions;
  /**
   * uint16 [levelCount, levelCount, taskCount, 3]: batch, cores of every instance, and instances to add, when the instances of the row's plan have to
   * carry the column's load at once. Cores are at least those of the row's plan; up to the diagonal a row repeats its plan.
   */
  readonly transitions: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly ThemisLevel[];
}

/** Models that run as pipelines of layers over execution places (EPs): a table says how a model is cut for any number of them, and how long a query then takes. */
export interface AccordionBundle extends CommonFields {
  readonly method: "accordion";
  /** Just one. */
  readonly tasks: readonly MalleableTask[];
  readonly policy: AccordionOptions;
  /**
   * uint16 [shapeCount, poolCount]: how many places of each pool a query may have. By ascending sum, then lexicographically descending, so with one
   * pool row n − 1 has n places. Sums are from 1 to `policy.maxDepth`; all shapes that the places allow are there.
   */
  readonly shapes: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly AccordionLevel[];
}

export interface Slo {
  /** Where queries are of several classes, the longest of theirs. */
  readonly latencyMs: number;
  /** Holds for every class. */
  readonly maxViolationRate: number | null;
  /** Percentile of the latency that has to meet `latencyMs` where there is no ceiling on violations, in (0, 100). */
  readonly percentile: number;
  /** Two or more, where queries do not all have the same SLO; left out where they do. RAMSIS only. */
  readonly classes?: readonly SloClass[];
}

/** Queries that have a latency objective of their own. A query that names no class is of the first. */
export interface SloClass {
  readonly name: string;
  readonly latencyMs: number;
  /** Of the load; the shares of all classes sum to 1. */
  readonly share: number;
}

/** Ratio of queries that may miss the SLO: the stated ceiling, or what its percentile leaves. */
export function violationCeiling({ maxViolationRate, percentile }: Slo): number {
  return maxViolationRate ?? (100 - percentile) / 100;
}

export type ArrivalModel =
  | { readonly process: "poisson" }
  | { readonly process: "gamma"; readonly cv2: number }
  | {
      readonly process: "trace";
      readonly file: string;
      /** Variance over mean of the queries that come within the SLO; 1 for a trace of rates, inside which arrivals are Poisson. */
      readonly dispersion: number;
    };

export interface Cluster {
  readonly communicationLatencyMs: number;
  readonly pools: readonly Pool[];
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  readonly cores: number | null;
  readonly pricePerHour: number | null;
}

/** Money is counted in whole millionths of the unit of the prices: their sums are exact, so equal plans cost the same to the last digit. */
export const MICROS = 1_000_000;

/** Price of a worker per hour in millionths; NaN without one. */
export function priceMicros({ pricePerHour }: Pick<Pool, "pricePerHour">): number {
  return Math.round(MICROS * (pricePerHour ?? Number.NaN));
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
  /** Whether another variant is at least as accurate and at least as fast at every batch size; such a variant is never chosen. */
  readonly dominated: boolean;
  readonly model: ModelFile | null;
  readonly profile: ProfileReference;
}

export interface ModelFile {
  /** File name without directories; the server finds it in its models folder. */
  readonly file: string;
  readonly sha256: string;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  /** −1 where the dimension is dynamic. */
  readonly shape: readonly number[];
}

export interface ProfileReference {
  /** File name without directories. */
  readonly file: string;
  /** Name of the variant inside the profile. */
  readonly variant: string;
  readonly hardware: string;
  readonly sha256: string;
}

/** Batch service times of a task: axis 0 is the variant, axis 1 the batch size minus one. */
export interface ServiceTimes {
  /** Percentile of the measured latencies that `decisionMs` holds, or null when the profile does not say. */
  readonly percentile: number | null;
  /** float64 [variantCount, maxBatch]: what the policy was computed with; non-decreasing along axis 1. */
  readonly decisionMs: Table;
  /** The measured distribution, each float64 [variantCount, maxBatch]; null unless every variant has it. */
  readonly quantiles: ServiceTimeQuantiles | null;
}

export interface ServiceTimeQuantiles {
  readonly p50Ms: Table;
  readonly p95Ms: Table;
  readonly p99Ms: Table;
  readonly meanMs: Table;
}

/** Options of the RAMSIS solver, every field explicit. */
export interface RamsisOptions {
  readonly objective: "per-query" | "per-decision";
  readonly discretization: Discretization;
  /** Maximal: a batch is all that wait. Variable: any number of them. */
  readonly batching: "maximal" | "variable";
  /** Queries that wait for one worker and are a state of their own at most; with the pooled balancer, the largest batch. */
  readonly maxQueue: number;
  readonly balancer: Balancer;
  /** What a batch takes in the decision problem: `decisionMs`, or atoms of the measured distribution. */
  readonly serviceTimes: "p95" | "quantiles";
  /** Whether a query that no variant can serve in time any more is given up instead of served late. */
  readonly drop: boolean;
  /** How classes are served: in one queue, each by workers of its own, or by level whichever is better. Left out where there is one SLO. */
  readonly classes?: "auto" | "shared" | "separate";
}

export type Discretization =
  | { readonly kind: "fixed"; readonly steps: number }
  /** A grid entry for each service time that can be a deadline's. Source: RAMSIS §4.2.2. */
  | { readonly kind: "model-based" };

/**
 * How queries reach workers. Round-robin and shortest-queue bind a query to a worker when it arrives; pooled keeps one queue for all, and binds
 * when a worker is free.
 */
export type Balancer = "round-robin" | "shortest-queue" | "pooled";

/** Axes and actions shared by the tables of all levels. */
export interface DecisionSpace {
  /**
   * Queries that wait in a queue that is not full. The queue is a worker's, or with the pooled balancer
   * the one of the cluster.
   */
  readonly maxQueue: number;
  /**
   * float64 [rowCount]: the fewest queries that each row of an action table answers for, ascending
   * from 1 to `maxQueue + 1`, a full queue. Absent where every number has a row, row `queued − 1`.
   */
  readonly queued?: Table;
  /** float64 [slackCount]: ascending from 0 to the SLO; a slack belongs to the last entry that is not above it. */
  readonly slackMs: Table;
  /** uint16 [actionCount, 2]: variant index, batch size. */
  readonly actions: Table;
}

/** Axes of the tables of one class; their actions are those of the decision space. */
export interface ClassSpace {
  /** As of the decision space, of the queue of the class. */
  readonly maxQueue: number;
  /** As of the decision space. */
  readonly queued?: Table;
  /** float64 [slackCount]: ascending from 0 to the SLO of the class. */
  readonly slackMs: Table;
}

export interface RamsisLevel {
  readonly loadQps: number;
  /** Whether the load is within capacity and the expected violation rate within `violationCeiling`. */
  readonly feasible: boolean;
  /** Load the fastest variant can carry when every batch just meets the SLO. */
  readonly capacityQps: number;
  readonly expected: Expected;
  readonly solve: SolveReport;
  /**
   * uint16 [rowCount, slackCount]: index into `decisionSpace.actions`; with the pooled balancer also NO_ACTION and GIVE_UP. Where there are
   * classes, of one queue for all of them.
   */
  readonly actionByState: Table;
  /** Where each class has a queue and workers of its own at this level, in the order of `slo.classes`; left out where one queue is followed. */
  readonly classTables?: readonly ClassTable[];
  /** A second table that answers a share of the decisions, chosen at random, so that a violation ceiling is met at the best accuracy; or null. */
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
  /** Of the decisions, in (0, 1). */
  readonly share: number;
  /** As `Level.actionByState`. */
  readonly actionByState: Table;
}

/** Guarantees of a policy in steady state (RAMSIS §5.1), weighted by queries. */
export interface Expected {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /**
   * No policy of any kind that violates no more than the ceiling, or than this one where it violates
   * more, has more accuracy per query at this load: the optimum of its fluid relaxation.
   */
  readonly upperBoundAccuracy: number;
  /** The same of policies that serve every query in time; absent in bundles that know one bound. */
  readonly servedBoundAccuracy?: number;
  /** What was counted, where the figures are from a simulation; `violationRate` is what the true rate hardly exceeds. */
  readonly sample?: { readonly queries: number; readonly violations: number };
  /** The same over batches instead of in the mean. */
  readonly byBatch: BatchDistribution;
  /** The same by the names of the classes, where there are any. */
  readonly byClass?: Readonly<Record<string, ClassExpected>>;
}

/** Of the queries of one class. */
export interface ClassExpected {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
}

export interface BatchDistribution {
  /** Accuracy that at least half, and at least 99 %, of the batches have; 0 for a batch that is late. */
  readonly accuracy: { readonly median: number; readonly p99: number };
  /** Violation rate of a batch, 0 or 1, that at least half, and at least 99 %, of the batches do not exceed. */
  readonly violationRate: { readonly median: number; readonly p99: number };
}

/** How the solver arrived at a level; wall time is reported by `compile` but kept out of the bundle, whose bytes are reproducible. */
export interface SolveReport {
  readonly method: string;
  readonly iterations: number;
  /** Span of the last Bellman residual. */
  readonly residual: number;
  readonly states: number;
}

export interface PipelineTask {
  readonly name: string;
  /** Index of the task whose outputs are this one's queries; null for an entry, whose queries are the requests. */
  readonly parent: number | null;
  /** Mean queries that reach an entry per request; 1 for any other task. */
  readonly entryShare: number;
  /** How tensors come here from the parent; null for an entry, or where no model is served. */
  readonly feed: Feed | null;
  readonly variants: readonly PipelineVariant[];
}

/** Which outputs of a task are the inputs of the next. A row of the parent becomes as many queries as `count` says. */
export interface Feed {
  readonly inputs: readonly { readonly input: string; readonly output: string }[];
  /** Output of the parent with the number of rows of the child for each of its rows; null where there is one each. */
  readonly count: string | null;
}

export interface PipelineVariant {
  readonly name: string;
  /** Measured accuracy of the variant alone, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  /** Mean queries sent per query served to each task that has this one as its parent, in the order of the tasks; shares of edges included. */
  readonly fanouts: readonly number[];
  /** In the order of the pools; null where the variant cannot run. */
  readonly profiles: readonly (PoolProfile | null)[];
}

/** What was measured of a variant on the hardware of a pool. */
export interface PoolProfile {
  readonly profile: ProfileReference;
  /** uint16 [rowCount]: the batch sizes that were measured, ascending. Plans choose among them. */
  readonly batches: Table;
  /** float64 [rowCount]: their latencies as they are. */
  readonly latencyMs: Table;
  /** Of every batch size up to the largest, for a single variant. */
  readonly serviceTimes: ServiceTimes;
}

export interface Leaf {
  /** Index of the task. */
  readonly task: number;
  /** Of its accuracy in that of the pipeline; the weights sum to 1. */
  readonly weight: number;
  /** float64, an axis for each task from the entry to the leaf, its variants along it: end-to-end accuracy of every path. */
  readonly accuracyByPath: Table;
}

/** Options of the Loki solver and of the runtime that follows its plans, every field explicit. */
export interface LokiOptions {
  /** Part of the SLO that execution and communication may use; the rest is for waiting. */
  readonly sloFraction: number;
  /**
   * What plans carry beyond the load of their level, relative to it; the paper's leave no room. Auto: as little as makes a simulation of the level keep
   * the ceiling on violations.
   */
  readonly headroom: number | "auto";
  readonly oneBatchPerVariant: boolean;
  readonly solver: "auto" | "glpk" | "highs";
  /** Longest time for one optimisation. */
  readonly solveLimitMs: number;
  readonly routing: PipelineRouting;
  readonly drop: DropMode;
  /** Fixed: an instance runs its variant. RAMSIS: a table chooses the variant of each batch, for tasks where that changes no fan-out. */
  readonly stagePolicy: "fixed" | "ramsis";
  /** Time a server takes to load another variant. */
  readonly modelLoadMs: number;
}

/** Plan: in the shares of the plan's paths. Most accurate first: Loki's algorithm 1. Auto: the plan while the load is near what it was made for. */
export type PipelineRouting = "auto" | "plan" | "most-accurate-first";

/**
 * When a query is given up, or sent another way. None: never. Last task: before the last one, if its time is not enough. Per task: after a task
 * that took longer than its budget. Reroute: as per task, unless a faster server makes up for it (Loki §5.2). Deadline: if no way left is fast
 * enough for its deadline, and another way if the planned one is not.
 */
export type DropMode = "none" | "last-task" | "per-task" | "reroute" | "deadline";

export interface LokiLevel {
  readonly loadQps: number;
  /** Whether some plan carries the load; whether queues then hold the SLO is what `expected` says. */
  readonly feasible: boolean;
  /** Largest load that some plan carries, to 0.1 %. */
  readonly capacityQps: number;
  /** For the load or, beyond capacity, for the capacity: the rest is shed. */
  readonly plan: PipelinePlan;
  /** In the order of the tasks, null where instances run their variants; or null where no task has a table. */
  readonly stages: readonly (StagePolicy | null)[] | null;
  readonly transition: Transition;
  readonly expected: PipelineExpected;
  readonly solve: PlanReport;
}

export interface PipelinePlan {
  /** Hardware: only the most accurate variants, on the fewest servers. Accuracy: the most accurate mix on all of them. */
  readonly step: "hardware" | "accuracy";
  /** Requests per second that the plan carries: the load of the level and its headroom, or the capacity. */
  readonly demandQps: number;
  readonly servers: number;
  /** Weighted mean over leaves of the accuracy of their paths. */
  readonly accuracy: number;
  readonly instances: readonly PlannedInstance[];
  /** Tree of the paths that requests take, parents first. */
  readonly nodes: readonly PlanNode[];
}

/** Servers of a pool that run one variant with one batch size. */
export interface PlannedInstance {
  readonly task: number;
  readonly variant: number;
  readonly pool: number;
  /** Largest batch. */
  readonly batch: number;
  readonly replicas: number;
  /** Of a whole batch. */
  readonly latencyMs: number;
  /** Of one server. */
  readonly throughputQps: number;
}

export interface PlanNode {
  /** Index of the node before; null at an entry task. */
  readonly parent: number | null;
  readonly instance: number;
  /** Share of all requests that take the path up to here; the nodes of one task sum to 1. */
  readonly ratio: number;
}

/** A RAMSIS policy for the servers of one task, with the pooled balancer. */
export interface StagePolicy {
  /** Time of the task in the SLO: a query's deadline there is its arrival plus this. */
  readonly budgetMs: number;
  readonly serviceTimes: ServiceTimes;
  readonly decisionSpace: DecisionSpace;
  /** As `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

/** Model loads that a change from the neighbouring level takes; null where there is no such level. */
export interface Transition {
  readonly modelLoadsFromBelow: number | null;
  readonly modelLoadsFromAbove: number | null;
}

/** What a simulation of the level at its load gives. */
export interface PipelineExpected {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly seed: number;
  readonly durationMs: number;
}

/** How a plan was found, and how good it is proven to be. */
export interface PlanReport {
  readonly method: string;
  readonly status: "optimal" | "feasible";
  /** The optimum is at most this much better: servers in the hardware step, accuracy in the other. */
  readonly gap: number;
  readonly rows: number;
  readonly columns: number;
  readonly nodes: number;
}

/** Independent: every edge is taken or not by a chance of its own. Exclusive: at most one is. */
export type Branch = "independent" | "exclusive";

export interface StageTask {
  readonly name: string;
  /** Edges that lead here, by ascending parent; an entry has one, from the requests. A task with several is a join. */
  readonly edges: readonly StageEdge[];
  /** How a query of this task chooses among the edges that lead away. */
  readonly branch: Branch;
  /** The same model for different hardware: at most one variant has a profile for a pool. */
  readonly variants: readonly StageVariant[];
}

export interface StageEdge {
  /** Index of the task before; null from the requests. */
  readonly parent: number | null;
  /** Probability that a query of the task before, or a request, takes the edge. */
  readonly share: number;
  /** How tensors come here; null for an entry, or where no model is served. */
  readonly feed: Feed | null;
}

export interface StageVariant {
  readonly name: string;
  /** Measured accuracy on what reaches the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  /** In the order of the pools; null where the variant cannot run. `serviceTimes` is what batches of any size take: non-decreasing, with no interpolation unless the policy asks for it. */
  readonly profiles: readonly (PoolProfile | null)[];
}

/** Options of the InferLine planner and of the tuner that follows its plans, every field explicit. */
export interface InferlineOptions {
  /** Exact: the greedy plan is improved until it is proven best, or the time is over. */
  readonly refine: "exact" | "none";
  /** Part of the SLO that plans keep free; auto: as little as makes traces that were not planned with meet the SLO. */
  readonly margin: number | "auto";
  /** Sample traces that a plan has to meet the SLO on. */
  readonly traces: number;
  /** Length of a sample trace that is drawn. */
  readonly sampleDurationMs: number;
  readonly sampleSeed: number;
  /** Longest time for one optimisation. */
  readonly solveLimitMs: number;
  /** What a batch between two profiled sizes takes: as the next larger one, or linear between them. */
  readonly betweenBatches: "next" | "linear";
  /** Relative: replicas follow the excess over the sample's traffic envelope. Paper: Algorithms 3 and 4 as printed. None: replicas stay as planned. */
  readonly tuner: "relative" | "paper" | "none";
  /** Standard deviations of a window's count above the sample's envelope that are no excess to the relative tuner. */
  readonly tolerance: number;
  /** Time a replica takes to come up, in simulations. */
  readonly activationMs: number;
}

export interface InferlineLevel {
  readonly loadQps: number;
  /** Whether the plan meets the SLO on the sample traces of the load. */
  readonly feasible: boolean;
  /** Load that the plan is for: that of the level, or less where the pools cannot carry it. */
  readonly capacityQps: number;
  readonly plan: ProvisioningPlan;
  /** What the planner saw, and what the tuner compares the traffic with. */
  readonly sample: TrafficSample;
  readonly expected: ProvisioningExpected;
  readonly solve: ProvisioningReport;
}

export interface ProvisioningPlan {
  /** Of all replicas, in the unit of the pools' prices; a whole number of millionths of it. */
  readonly costPerHour: number;
  /** One for each task, in their order. */
  readonly stages: readonly StagePlan[];
}

export interface StagePlan {
  /** Index among the variants of the task. */
  readonly variant: number;
  readonly pool: number;
  /** Largest batch. */
  readonly batch: number;
  readonly replicas: number;
  /** Of a whole batch. */
  readonly latencyMs: number;
  /** Of one replica with whole batches: μ. */
  readonly throughputQps: number;
  /** Mean queries that reach the task per request: s. */
  readonly scaleFactor: number;
  /** Load over the throughput of all planned replicas: ρ = λ s / (replicas μ). */
  readonly provisioningRatio: number;
}

/** Statistics of the sample traces. Source: InferLine §5. */
export interface TrafficSample {
  readonly requests: number;
  readonly durationMs: number;
  /** λ: requests over the duration. */
  readonly meanQps: number;
  /** Highest rate of tumbling windows of 5 s. */
  readonly peakQps: number;
  /** Part of the SLO that was kept free. */
  readonly margin: number;
  /** The plan by the estimator, on all sample traces. */
  readonly estimate: { readonly p99Ms: number; readonly missRate: number };
  readonly envelope: TrafficEnvelope;
}

/** Most requests in any closed window of each length, of the trace with the most. */
export interface TrafficEnvelope {
  /** float64 [windowCount]: ascending; the service time of the plan doubled again and again, and 60 s last. */
  readonly windowMs: Table;
  /** float64 [windowCount]: whole numbers, non-decreasing. */
  readonly requests: Table;
}

/** What a simulation of the level at its load gives, the tuner at work, and what traces that were not planned with say of the plan. */
export interface ProvisioningExpected {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  /** Mean over the time, of replicas that run or come up. */
  readonly costPerHour: number;
  readonly seed: number;
  readonly durationMs: number;
  /** Held-out traces of the length of a sample, and those of them on which the plan alone meets the SLO. */
  readonly heldOut: { readonly traces: number; readonly met: number; readonly missRate: number };
}

/** How a plan was found, and how good it is proven to be. */
export interface ProvisioningReport {
  readonly method: string;
  readonly status: "optimal" | "feasible" | "infeasible";
  /** Of the greedy plan alone; null where it found none. */
  readonly greedyCostPerHour: number | null;
  /** The optimum is at most this part of the cost cheaper. */
  readonly provenGap: number;
  /** Configurations that were simulated, in part or whole. */
  readonly evaluations: number;
}

/** A stage whose one model runs on any number of cores. */
export interface ScaledTask extends Pick<StageTask, "name" | "edges" | "branch"> {
  /** Mean queries that reach the task per request, from the shares of the edges. */
  readonly scaleFactor: number;
  /** Just one. */
  readonly variants: readonly ScaledVariant[];
}

export interface ScaledVariant {
  readonly name: string;
  /** Measured accuracy on what reaches the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  readonly profile: ProfileReference;
  readonly latency: LatencyByCores;
}

/** What a batch takes on any number of cores. Source: Themis §4.1. */
export interface LatencyByCores {
  /** float64 [maxCores, maxBatch]: above 0, non-decreasing along axis 1. Measured where there are rows, else fitted. */
  readonly ms: Table;
  /** l(b, c) = γ b / c + ε / c + δ b + η in ms; null where there are too few points. */
  readonly fit: LatencyFit | null;
  /** float64 [pointCount, 3]: batch, cores and latency in ms as measured, by ascending cores and batch; empty where the fit was given. */
  readonly points: Table;
}

export interface LatencyFit {
  readonly gamma: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly eta: number;
}

/** Latency of a batch by the fit, ms. Source: Themis eq. 1. */
export function fittedMs(
  { gamma, epsilon, delta, eta }: LatencyFit,
  batch: number,
  cores: number,
): number {
  return (gamma * batch) / cores + epsilon / cores + delta * batch + eta;
}

/** Options of the Themis solver and of the runtime that scales by its plans, every field explicit. */
export interface ThemisOptions {
  readonly maxBatch: number;
  /** Most cores of one instance. */
  readonly maxCores: number;
  /** Paper: a query waits for its batch, (b − 1) / λ, and for nothing else. Stochastic: what it waits at a quantile when arrivals are random. */
  readonly queueing: "stochastic" | "paper";
  /** Of the waiting times of the stochastic model; auto: as low as makes a simulation of the plan keep the ceiling on violations. */
  readonly quantile: number | "auto";
  readonly solver: "exact" | "paper";
  /**
   * Which plans are followed. Joint: the cheapest of any kind; a burst is met with cores at once, and with the instances of the plan for it. Themis: as the
   * paper, cores at once and 1-core instances when the load is steady. Horizontal: instances only, as FA2. Vertical: cores only, as Sponge.
   */
  readonly scaling: "joint" | "themis" | "horizontal" | "vertical";
  /** What foretells the highest rate of the next 10 s. */
  readonly predictor: PredictorName;
  /** Time between two looks at the traffic. */
  readonly tickMs: number;
  /** Looks in a row that have to agree before instances follow the load. */
  readonly stableTicks: number;
  /** Time until an instance has other cores, and until a new one is up, in simulations. */
  readonly resizeMs: number;
  readonly coldStartMs: number;
  /** Cores of the instances that are added where the present ones are not enough. */
  readonly extraCores: "same" | "one";
  /** A query that is older than so many times the SLO when its turn comes is given up; null: never. */
  readonly dropAfterSlos: number | null;
}

export type PredictorName = "last-max" | "ewma" | "holt" | "poisson-peak" | "lstm";

export interface ThemisLevel {
  readonly loadQps: number;
  /** Whether there is a plan for the load. */
  readonly feasible: boolean;
  /** Load that `steady` is for: that of the level, or less where the pool cannot carry it. */
  readonly capacityQps: number;
  /** Instances of one core; one instance for each task; any. Null where there is none. */
  readonly horizontal: ScalePlan | null;
  readonly vertical: ScalePlan | null;
  readonly joint: ScalePlan | null;
  /** The plan that is followed while the load is that of the level. */
  readonly steady: ScalePlan;
  readonly solve: ScaleReport;
}

export interface ScalePlan {
  /** Of all instances: sum of cores times instances. */
  readonly cores: number;
  /** Of the longest path by the model: processing, queueing and hops. */
  readonly latencyMs: number;
  /** One for each task, in their order. */
  readonly stages: readonly ScaledStage[];
  readonly expected: ScaleExpected;
}

export interface ScaledStage {
  /** Largest batch. */
  readonly batch: number;
  /** Of one instance. */
  readonly cores: number;
  readonly instances: number;
}

/** What a simulation of random arrivals at the load of the plan gives, its instances as they are. */
export interface ScaleExpected {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly requests: number;
  readonly seed: number;
}

/** How the plans of a level were found. */
export interface ScaleReport {
  readonly method: string;
  readonly status: "optimal" | "feasible" | "infeasible";
  /** Quantile that waiting times were taken at; null with the paper's queueing. */
  readonly quantile: number | null;
  /** Where there is no plan, index of the task that takes most of the SLO. */
  readonly bindingTask: number | null;
  /** Plans that were simulated. */
  readonly evaluations: number;
}

/** Models that clients name: each is cut and scheduled by itself. */
export interface MalleableTask {
  readonly name: string;
  readonly variants: readonly MalleableVariant[];
}

export interface MalleableVariant {
  readonly name: string;
  /** Measured accuracy, 0..1. */
  readonly accuracy: number;
  /** The whole model: what clients see of it. Served are its stages. */
  readonly model: ModelFile | null;
  /** In the order of the pools. */
  readonly profiles: readonly ProfileReference[];
  /** Layers that the model can be cut into; 0 where the profile gives speed-ups instead. */
  readonly layerCount: number;
  /** In the order of the shapes; null where the model has fewer layers than the shape has places. The first is never null. */
  readonly pipelines: readonly (LayerPipeline | null)[];
  /** float64 [shapeCount, maxBatch]: time of a query of b instances, above 0 and strictly ascending along axis 1; Infinity where there is no pipeline. */
  readonly latencyMs: Table;
  /** Stages of all pipelines, each once; empty without a model. */
  readonly stages: readonly StageModel[];
}

/** Layers `from` to `to` − 1 of a model as a model of one instance. */
export interface StageModel {
  readonly from: number;
  readonly to: number;
  readonly model: ModelFile;
}

/** A model cut into as many contiguous stages as its shape has places. */
export interface LayerPipeline {
  /** Layers of each stage, each at least 1; empty where the profile gives speed-ups instead. */
  readonly cut: readonly number[];
  /** Pool of the place of each stage. */
  readonly pools: readonly number[];
  /** Of one instance; empty like `cut`. */
  readonly stageMs: readonly number[];
  /** τ: time between two instances, that of the heaviest stage. */
  readonly stepMs: number;
  /** Time of one instance over that with this pipeline in steady state: how many times as many instances per second pass as on the first shape alone. */
  readonly speedup: number;
  /** Whether the stages were measured as they are cut, instead of added up from their layers. */
  readonly isMeasured: boolean;
}

/** Options of the Accordion solver and of the scheduler that follows its table, every field explicit. */
export interface AccordionOptions {
  /** Workers of the pools in their order that are used, at most as many as there are. */
  readonly executionPlaces: number;
  /** Most places of one query. */
  readonly maxDepth: number;
  /** Pipelined: T(B) = L + (B − 1) τ. Paper: T(B) = B L / S, as its figures imply. */
  readonly timing: "pipelined" | "paper";
  /** Most instances of one query. */
  readonly maxBatch: number;
  readonly scheduler: SchedulerName;
  /**
   * Whether running queries get more places too: free ones that make them end earlier when nothing waits, and those that save one of high priority from being
   * late; which therefore starts on fewer places than it needs, if there are no more.
   */
  readonly regrow: boolean;
  /** Whether queries behind one that has to wait may start on the free places if those are enough for them; within a priority. */
  readonly backfill: boolean;
  /** Cost of giving a running query other places. */
  readonly reconfigurationMs: number;
  /** A query of low priority that takes longer than so many times the SLO, or than so many times what a tighter deadline of its own leaves, is given up; null: never. */
  readonly dropAfterSlos: number | null;
  /** When that is decided. Turn: once it is certain and none of its priority waits before it. Arrival: by a forecast when it comes, the paper's Algorithm 1. */
  readonly dropout: "turn" | "arrival";
  /** Queries of simulations: log-normal batch sizes of this mean and this σ of the logarithm, at least 1, and the share of low priority. */
  readonly meanBatch: number;
  readonly batchSigma: number;
  readonly lowShare: number;
}

/** Accordion: malleable. The others are baselines whose queries keep the places they start with. Source: Accordion §4.2. */
export type SchedulerName = "accordion" | "slo-conforming" | "fastest" | "bbs" | "one-stage";

export interface AccordionLevel {
  readonly loadQps: number;
  /** Whether the load is within capacity and the expected violations within `violationCeiling`. */
  readonly feasible: boolean;
  /** Queries per second that all places carry when each runs a query of its own: no schedule carries more. */
  readonly capacityQps: number;
  readonly expected: PlaceExpected;
}

/** What a simulation of the level at its load gives. */
export interface PlaceExpected {
  /** Late, dropped or both, of all queries. */
  readonly violationRate: number;
  readonly droppedRate: number;
  /** Of the queries that were served. */
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  /** Mean share of the places that are busy. */
  readonly occupancy: number;
  /** Mean queries that run at a time. */
  readonly activeQueries: number;
  /** Shrinks and growths per query. */
  readonly reconfigurations: number;
  readonly queries: number;
  readonly seed: number;
  readonly durationMs: number;
}

export interface Provenance {
  readonly compiler: string;
  readonly inputs: readonly InputDigest[];
}

export interface InputDigest {
  /** Path relative to the application spec, with forward slashes. */
  readonly path: string;
  readonly sha256: string;
}

export type TableDtype = "float64" | "uint16";

export type Table =
  | { readonly dtype: "float64"; readonly shape: readonly number[]; readonly data: Float64Array }
  | { readonly dtype: "uint16"; readonly shape: readonly number[]; readonly data: Uint16Array };

/** What the actions of one state are worth: a solver computes it from a bundle, which does not hold it. */
export interface ActionValues {
  /**
   * Advantages are accuracy-weighted queries over all the future or, with the paper's objective, accuracy-weighted decisions; of a pooled policy, the
   * accuracy per query less the price of the workers' time.
   */
  readonly unit: "queries" | "decisions" | "accuracy less price";
  /** Every admissible action and the table's, best first; of equals the table's. */
  readonly actions: readonly ActionValue[];
}

export interface ActionValue {
  /** Index of the variant. */
  readonly variant: number;
  readonly batch: number;
  /** What is gained by this action instead of the best, the table deciding from the next decision on; at most 0. */
  readonly advantage: number;
}

/** Why a state's actions have no values that could be compared. */
export interface NoActionValues {
  readonly reason: string;
}
