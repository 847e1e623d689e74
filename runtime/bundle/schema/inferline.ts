/** The bundle of InferLine: plans for stages on several kinds of hardware. */
import type { CommonFields, ExpectedLatency, PacePromises, Table } from "./common.ts";
import type { Branch, StageTask } from "./graph.ts";

/**
 * A pipeline whose stages run one model each: plans say on which hardware, in what batches and on
 * how many replicas.
 */
export interface InferlineBundle extends CommonFields {
  readonly method: "inferline";
  /**
   * Parents before their children; ties of a simulation are broken in this order. A root that only
   * passes requests on is left out.
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
  /** Exact: the greedy plan is improved until it is proven best, or the time is over. */
  readonly refine: "exact" | "none";
  /**
   * Any: greedy tries all cheaper hardware for a task; left out where it tries the next cheaper, as
   * in the paper.
   */
  readonly downgrade?: "any";
  /**
   * Part of the SLO that plans keep free; auto: as little as makes traces that were not planned
   * with meet the SLO.
   */
  readonly margin: number | "auto";
  /** Sample traces that a plan has to meet the SLO on. */
  readonly traces: number;
  /** Length of a sample trace that is drawn. */
  readonly sampleDurationMs: number;
  /**
   * Requests that a sample trace has at least, in the mean: at low loads it is as long as that
   * takes. Left out where its length was given, or is enough at all loads.
   */
  readonly sampleRequests?: number;
  readonly sampleSeed: number;
  /** Longest time for one optimisation. */
  readonly solveLimitMs: number;
  /**
   * What a batch between two profiled sizes takes: as the next larger one, or linear between them.
   */
  readonly betweenBatches: "next" | "linear";
  /**
   * Joint: replicas and level follow envelope, forecast and what waits together. Relative: replicas
   * follow the excess over the sample's traffic envelope. Paper: Algorithms 3 and 4 as printed.
   * None: replicas stay as planned.
   */
  readonly tuner: "joint" | "relative" | "paper" | "none";
  /**
   * Standard deviations of a window's count above the sample's envelope that are no excess to the
   * relative tuner, and beside its own none to the joint one.
   */
  readonly tolerance: number;
  /** Time a replica takes to come up, in simulations. */
  readonly activationMs: number;
  /** Says that `activationMs` is what profiles measured; left out where it was given. */
  readonly startFrom?: "profiles";
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
  /** What all replicas cost, in the pools' unit; a whole number of millionths of it. */
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
  /** What a whole batch takes. */
  readonly latencyMs: number;
  /** What one replica carries with whole batches: μ. */
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
  /**
   * float64 [windowCount]: ascending; the service time of the plan doubled again and again, and 60
   * s last.
   */
  readonly windowMs: Table;
  /** float64 [windowCount]: whole numbers, non-decreasing. */
  readonly requests: Table;
}

/**
 * What a simulation of the level at its load gives, the tuner at work, and what traces that were
 * not planned with say of the plan.
 */
export interface ProvisioningExpected extends PacePromises {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMs?: ExpectedLatency;
  /** Mean over the time, of replicas that run or come up. */
  readonly costPerHour: number;
  readonly seed: number;
  readonly durationMs: number;
  /**
   * Held-out traces of the length of a sample, and those of them on which the plan alone meets the
   * SLO.
   */
  readonly heldOut: { readonly traces: number; readonly met: number; readonly missRate: number };
}

/** How a plan was found, and how good it is proven to be. */
export interface ProvisioningReport {
  readonly method: string;
  readonly status: "optimal" | "feasible" | "infeasible";
  /** Cost of the greedy plan alone; null where it found none. */
  readonly greedyCostPerHour: number | null;
  /** The optimum is at most this part of the cost cheaper. */
  readonly provenGap: number;
  /** Configurations that were simulated, in part or whole. */
  readonly evaluations: number;
}
