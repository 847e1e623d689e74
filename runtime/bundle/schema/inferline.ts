/** Bundle of InferLine: plans for stages on several kinds of hardware. */
import type { CommonFields, ExpectedTimes, PacePromises, Table } from "./common.ts";
import type { Branch, StageTask } from "./graph.ts";

/**
 * A pipeline whose stages run one model each: plans give their hardware, batch sizes and replicas.
 */
export interface InferlineBundle extends CommonFields {
  readonly method: "inferline";
  /**
   * Parents before their children; a simulation breaks ties in this order. A root that only passes
   * requests on is left out.
   */
  readonly tasks: readonly StageTask[];
  /** Whether a request goes to at most one of the entries. */
  readonly entryBranch: Branch;
  readonly policy: InferlineOptions;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly InferlineLevel[];
}

/**
 * Options of the InferLine planner and of the tuner that follows its plans, every field explicit.
 */
export interface InferlineOptions {
  /** Exact: the greedy plan is improved until it is proven optimal, or the time is over. */
  readonly refine: "exact" | "none";
  /**
   * Any: greedy tries all cheaper hardware for a task; if left out it tries the next cheaper, as in
   * the paper.
   */
  readonly downgrade?: "any";
  /**
   * Part of the SLO that plans keep free; auto: the smallest with which held-out traces meet the
   * SLO.
   */
  readonly margin: number | "auto";
  /** Sample traces that a plan has to meet the SLO on. */
  readonly traces: number;
  /** Length of a drawn sample trace. */
  readonly sampleDurationMs: number;
  /**
   * Smallest mean number of requests of a sample trace: at low loads the trace is longer. Left out
   * if its length was stated, or is enough at all loads.
   */
  readonly sampleRequests?: number;
  readonly sampleSeed: number;
  /** Longest time for one optimisation. */
  readonly solveLimitMs: number;
  /**
   * Time of a batch between two profiled sizes: that of the next larger one, or linear between
   * them.
   */
  readonly betweenBatches: "next" | "linear";
  /**
   * Joint: replicas and level follow envelope, forecast and waiting queries together. Relative:
   * replicas follow the excess over the sample's traffic envelope. Paper: Algorithms 3 and 4 as
   * printed. None: replicas stay as planned.
   */
  readonly tuner: "joint" | "relative" | "paper" | "none";
  /**
   * Standard deviations by which a window's count may exceed the sample's envelope (relative
   * tuner), or its own envelope as well (joint tuner), before it counts as excess.
   */
  readonly tolerance: number;
  /** Start time of a replica, in simulations. */
  readonly activationMs: number;
  /** Set if `activationMs` was measured in profiles; left out if it was stated. */
  readonly startFrom?: "profiles";
}

export interface InferlineLevel {
  readonly loadQps: number;
  /** Whether the plan meets the SLO on the sample traces of the load. */
  readonly feasible: boolean;
  /** Load that the plan is for: that of the level, or less if the pools cannot carry it. */
  readonly capacityQps: number;
  readonly plan: ProvisioningPlan;
  /** Traffic that the planner used, and that the tuner compares the traffic with. */
  readonly sample: TrafficSample;
  readonly expected: ProvisioningExpected;
  readonly solve: ProvisioningReport;
}

export interface ProvisioningPlan {
  /** Cost of all replicas, in the pools' unit; a whole number of millionths of it. */
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
  /** Time of a full batch. */
  readonly latencyMs: number;
  /** μ: throughput of one replica with full batches. */
  readonly throughputQps: number;
  /** s: mean queries that reach the task per request. */
  readonly scaleFactor: number;
  /** ρ = λ s / (replicas μ): load over the throughput of all planned replicas. */
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
  /** Figures of the plan by the estimator, on all sample traces. */
  readonly estimate: { readonly p99Ms: number; readonly missRate: number };
  readonly envelope: TrafficEnvelope;
}

/** Most requests in any closed window of each length, of the trace with the most. */
export interface TrafficEnvelope {
  /**
   * float64 [windowCount]: ascending; the service time of the plan doubled repeatedly, and 60 s
   * last.
   */
  readonly windowMs: Table;
  /** float64 [windowCount]: whole numbers, non-decreasing. */
  readonly requests: Table;
}

/**
 * Figures from a simulation of the level at its load with the tuner, and of the plan on held-out
 * traces.
 */
export interface ProvisioningExpected extends PacePromises, ExpectedTimes {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  /** Mean over the time, of replicas that run or start. */
  readonly costPerHour: number;
  readonly seed: number;
  readonly durationMs: number;
  /**
   * Held-out traces of the length of a sample, and the number of them on which the plan alone meets
   * the SLO.
   */
  readonly heldOut: { readonly traces: number; readonly met: number; readonly missRate: number };
}

/** How a plan was found, and its proven quality. */
export interface ProvisioningReport {
  readonly method: string;
  readonly status: "optimal" | "feasible" | "infeasible";
  /** Cost of the greedy plan alone; null if it found no plan. */
  readonly greedyCostPerHour: number | null;
  /** The optimum costs at most this fraction less. */
  readonly provenGap: number;
  /** Configurations that were simulated, in part or whole. */
  readonly evaluations: number;
}
