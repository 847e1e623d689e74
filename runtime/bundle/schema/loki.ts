/** Bundle of Loki: plans for a tree of tasks. */
import type {
  CommonFields,
  DecisionSpace,
  ExpectedTimes,
  ModelFile,
  PacePromises,
  ServiceTimes,
  Table,
} from "./common.ts";
import type { Feed, PoolProfile } from "./graph.ts";

/** A pipeline: plans assign variants to servers, and paths to requests. */
export interface LokiBundle extends CommonFields {
  readonly method: "loki";
  /**
   * Parents before their children. A task that only passes requests on is left out: its children
   * take its place.
   */
  readonly tasks: readonly PipelineTask[];
  /** One for each task without children, in their order. */
  readonly leaves: readonly Leaf[];
  readonly policy: LokiOptions;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly LokiLevel[];
  /** Plans for slower machines: ascending by pace, and within a pace by load; optional. */
  readonly paceLevels?: readonly LokiPaceLevel[];
}

/**
 * The plan for a load on a machine whose service times are `pace` times the profile. Its latencies
 * and throughputs are those of that machine.
 */
export interface LokiPaceLevel extends Pick<LokiLevel, "loadQps" | "plan"> {
  /** Above 1. */
  readonly pace: number;
}

export interface PipelineTask {
  readonly name: string;
  /**
   * Index of the task whose outputs are this one's queries; null for an entry, whose queries are
   * the requests.
   */
  readonly parent: number | null;
  /** Mean queries that reach an entry per request; 1 for any other task. */
  readonly entryShare: number;
  /** Source of the tensors from the parent; null for an entry, or if no model is served. */
  readonly feed: Feed | null;
  readonly variants: readonly PipelineVariant[];
}

export interface PipelineVariant {
  readonly name: string;
  /** Measured accuracy of the variant alone, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  /**
   * Mean queries sent per query served to each task that has this one as its parent, in the order
   * of the tasks; shares of edges included.
   */
  readonly fanouts: readonly number[];
  /** In the order of the pools; null if the variant cannot run there. */
  readonly profiles: readonly (PoolProfile | null)[];
}

export interface Leaf {
  /** Index of the task. */
  readonly task: number;
  /** Weight of its accuracy in that of the pipeline; the weights sum to 1. */
  readonly weight: number;
  /**
   * float64, an axis for each task from the entry to the leaf, its variants along it: end-to-end
   * accuracy of every path. Null for the product of the accuracies of a path's variants.
   */
  readonly accuracyByPath: Table | null;
}

/** Options of the Loki solver and of the runtime that follows its plans, every field explicit. */
export interface LokiOptions {
  /** Part of the SLO that execution and communication may use; the rest is for waiting. */
  readonly sloFraction: number;
  /**
   * Throughput of plans beyond the load of their level, relative to it; 0 in the paper. Auto: the
   * smallest with which a simulation of the level keeps the ceiling on violations.
   */
  readonly headroom: number | "auto";
  readonly oneBatchPerVariant: boolean;
  readonly solver: "auto" | "glpk" | "highs";
  /** Longest time for one optimisation. */
  readonly solveLimitMs: number;
  readonly routing: PipelineRouting;
  readonly drop: DropMode;
  /**
   * Fixed: an instance runs its variant. RAMSIS: a table chooses the variant of each batch, for
   * tasks where that changes no fan-out.
   */
  readonly stagePolicy: "fixed" | "ramsis";
  /** Time a server takes to load another variant. */
  readonly modelLoadMs: number;
  /** Set if `modelLoadMs` was measured in profiles; left out if it was stated. */
  readonly startFrom?: "profiles";
}

/**
 * Plan: in the shares of the plan's paths. Most accurate first: Loki's algorithm 1. Auto: the plan
 * while the load is near the one it was made for.
 */
export type PipelineRouting = "auto" | "plan" | "most-accurate-first";

/**
 * When a query is given up, or rerouted. None: never. Last task: before the last one, if its time
 * is not enough. Per task: after a task that took longer than its budget. Reroute: as per task,
 * unless a faster server makes up for it (Loki §5.2). Deadline: given up if no remaining path is
 * fast enough for its deadline, rerouted if only the planned one is not.
 */
export type DropMode = "none" | "last-task" | "per-task" | "reroute" | "deadline";

export interface LokiLevel {
  readonly loadQps: number;
  /** Whether some plan carries the load; `expected` says whether queues then keep the SLO. */
  readonly feasible: boolean;
  /** Largest load that some plan carries, to 0.1 %. */
  readonly capacityQps: number;
  /** For the load or, beyond capacity, for the capacity: the rest is shed. */
  readonly plan: PipelinePlan;
  /**
   * In the order of the tasks, null for tasks whose instances run their variants; or null if no
   * task has a table.
   */
  readonly stages: readonly (StagePolicy | null)[] | null;
  readonly transition: Transition;
  readonly expected: PipelineExpected;
  readonly solve: PlanReport;
}

export interface PipelinePlan {
  /**
   * Hardware: only the most accurate variants, on the fewest servers. Accuracy: the most accurate
   * mix on all of them.
   */
  readonly step: "hardware" | "accuracy";
  /**
   * Requests per second that the plan carries: the load of the level and its headroom, or the
   * capacity.
   */
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
  /** Time of a full batch. */
  readonly latencyMs: number;
  /** Throughput of one server. */
  readonly throughputQps: number;
}

export interface PlanNode {
  /** Index of the previous node; null at an entry task. */
  readonly parent: number | null;
  readonly instance: number;
  /** Share of all requests that take the path up to here; the nodes of one task sum to 1. */
  readonly ratio: number;
}

/** A RAMSIS policy for the servers of one task, with the pooled balancer. */
export interface StagePolicy {
  /** Part of the SLO for the task: a query's deadline there is its arrival plus this. */
  readonly budgetMs: number;
  readonly serviceTimes: ServiceTimes;
  readonly decisionSpace: DecisionSpace;
  /** Same form as `RamsisLevel.actionByState`. */
  readonly actionByState: Table;
}

/** Model loads that a change from the neighbouring level takes; null without such a level. */
export interface Transition {
  readonly modelLoadsFromBelow: number | null;
  readonly modelLoadsFromAbove: number | null;
}

/** Figures from a simulation of the level at its load. */
export interface PipelineExpected extends PacePromises, ExpectedTimes {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly seed: number;
  readonly durationMs: number;
}

/** How a plan was found, and its proven quality. */
export interface PlanReport {
  readonly method: string;
  readonly status: "optimal" | "feasible";
  /**
   * The optimum is at most this much better: servers in the hardware step, accuracy in the other.
   */
  readonly gap: number;
  readonly rows: number;
  readonly columns: number;
  readonly nodes: number;
}
