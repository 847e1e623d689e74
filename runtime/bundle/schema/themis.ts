/** Bundle of Themis: plans for stages of any number of cores and instances. */
import type {
  CommonFields,
  ExpectedTimes,
  ModelFile,
  PacePromises,
  ProfileReference,
  Table,
} from "./common.ts";
import type { Branch, StageTask } from "./graph.ts";

/**
 * A pipeline whose stages run one model each at a time: plans give each task's variant, instances,
 * cores and batch sizes; transitions lead from one plan to another.
 */
export interface ThemisBundle extends CommonFields {
  readonly method: "themis";
  /** Parents before their children. A root that only passes requests on is left out. */
  readonly tasks: readonly ScaledTask[];
  /** Whether a request goes to at most one of the entries. */
  readonly entryBranch: Branch;
  readonly policy: ThemisOptions;
  /**
   * uint16 [levelCount, levelCount, taskCount, 3], pace levels included: batch, cores of every
   * instance, and instances to add, when the instances of the row's plan have to carry the column's
   * load at once. Cores are at least those of the row's plan; up to the diagonal a row repeats its
   * plan. The variants are those of the row's plan.
   */
  readonly transitions: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly ThemisLevel[];
  /**
   * Plans for slower machines, ascending by load times pace, above the highest level. In
   * `transitions` they follow the levels. Optional.
   */
  readonly paceLevels?: readonly ThemisPaceLevel[];
}

/** The plan of a load on a machine whose batches take `pace` times the times in `tasks`. */
export interface ThemisPaceLevel extends Pick<ThemisLevel, "loadQps" | "capacityQps" | "steady"> {
  /** Above 1. */
  readonly pace: number;
}

/** Returns levels and pace levels, by ascending load on a machine as profiled. */
export function followedLevels({
  levels,
  paceLevels = [],
}: Pick<ThemisBundle, "levels" | "paceLevels">): readonly (ThemisPaceLevel | ThemisLevel)[] {
  return [...levels, ...paceLevels];
}

/** A stage whose models run on any number of cores. */
export interface ScaledTask extends Pick<StageTask, "name" | "edges" | "branch"> {
  /** Mean queries that reach the task per request, from the shares of the edges. */
  readonly scaleFactor: number;
  /** Alternatives of a plan. A variant that runs in several pools has an entry for each. */
  readonly variants: readonly ScaledVariant[];
}

export interface ScaledVariant {
  readonly name: string;
  /** Measured accuracy on the queries that reach the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  readonly profile: ProfileReference;
  /** Index of the pool of these times; left out for the first. */
  readonly pool?: number;
  readonly latency: LatencyByCores;
}

/** Time of a batch on any number of cores. Source: Themis §4.1. */
export interface LatencyByCores {
  /**
   * float64 [maxCores, maxBatch]: above 0, non-decreasing along axis 1. Measured rows, and fitted
   * ones where nothing was measured.
   */
  readonly ms: Table;
  /** l(b, c) = γ b / c + ε / c + δ b + η in ms; null with too few points. */
  readonly fit: LatencyFit | null;
  /**
   * float64 [pointCount, 3]: batch, cores and latency in ms as measured, by ascending cores and
   * batch; empty if the fit was stated.
   */
  readonly points: Table;
  /**
   * float64 [pointCount, 4]: p50, p95, p99 and mean of the points in ms; left out if a point has
   * none, or profiles have no serving path.
   */
  readonly quantiles?: Table;
}

export interface LatencyFit {
  readonly gamma: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly eta: number;
}

/** Returns the latency of a batch by the fit, ms. Source: Themis eq. 1. */
export function fittedMs(
  { gamma, epsilon, delta, eta }: LatencyFit,
  batch: number,
  cores: number,
): number {
  return (gamma * batch) / cores + epsilon / cores + delta * batch + eta;
}

/**
 * Options of the Themis solver and of the runtime that scales by its plans, every field explicit.
 */
export interface ThemisOptions {
  readonly maxBatch: number;
  /** Most cores of one instance. */
  readonly maxCores: number;
  /**
   * Paper: a query waits only for its batch, (b − 1) / λ. Stochastic: its waiting time at a
   * quantile with random arrivals.
   */
  readonly queueing: "stochastic" | "paper";
  /**
   * Quantile of the waiting times of the stochastic model; auto: the lowest with which a simulation
   * of the plan keeps the ceiling on violations.
   */
  readonly quantile: number | "auto";
  readonly solver: "exact" | "paper";
  /**
   * Plans to follow. Joint: the cheapest of any kind; a burst is met with cores at once, and with
   * the instances of the plan for it. Themis: as in the paper, cores at once and 1-core instances
   * when the load is steady. Horizontal: instances only, as FA2. Vertical: cores only, as Sponge.
   */
  readonly scaling: "joint" | "themis" | "horizontal" | "vertical";
  /** Predictor of the highest rate of the next 10 s. */
  readonly predictor: PredictorName;
  /** Interval between two decisions. */
  readonly tickMs: number;
  /** Consecutive decisions that have to agree before instances follow the load. */
  readonly stableTicks: number;
  /** Time until an instance has other cores, and until a new one is ready, in simulations. */
  readonly resizeMs: number;
  readonly coldStartMs: number;
  /** Set if `coldStartMs` was measured in profiles; left out if it was stated. */
  readonly startFrom?: "profiles";
  /** Cores of the instances that are added if the present ones are not enough. */
  readonly extraCores: "same" | "one";
  /**
   * Age, as a multiple of the SLO, beyond which a query is given up when its turn comes; null:
   * never.
   */
  readonly dropAfterSlos: number | null;
  /**
   * Rest: the expected time of its batch and of its remaining path counts with its age. If left
   * out, only its age counts, as in the paper.
   */
  readonly dropRule?: "rest";
}

type PredictorName = "last-max" | "ewma" | "holt" | "poisson-peak" | "lstm";

export interface ThemisLevel {
  readonly loadQps: number;
  /** Whether the load has a plan. */
  readonly feasible: boolean;
  /** Load that `steady` is for: that of the level, or less if the pool cannot carry it. */
  readonly capacityQps: number;
  /** Instances of one core; one instance for each task; any. Null without such a plan. */
  readonly horizontal: ScalePlan | null;
  readonly vertical: ScalePlan | null;
  readonly joint: ScalePlan | null;
  /** The plan to follow at the load of the level. */
  readonly steady: ScalePlan;
  readonly solve: ScaleReport;
}

export interface ScalePlan {
  /** Cores of all instances together. */
  readonly cores: number;
  /** Latency of the longest path by the model: processing, queueing and hops. */
  readonly latencyMs: number;
  /** One for each task, in their order. */
  readonly stages: readonly ScaledStage[];
  readonly expected: ScaleExpected;
}

export interface ScaledStage {
  /** Largest batch. */
  readonly batch: number;
  /** Cores of one instance. */
  readonly cores: number;
  readonly instances: number;
  /** Index among the variants of the task; left out for the first. */
  readonly variant?: number;
}

/**
 * Figures from a simulation of random arrivals at the load of the plan, with its instances fixed.
 */
export interface ScaleExpected extends PacePromises, ExpectedTimes {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly requests: number;
  readonly seed: number;
  /**
   * Mean cores held at the load of the level, and their cost, by the plan that is followed. The
   * cost is left out if a pool has no price.
   */
  readonly cores?: number;
  readonly costPerHour?: number;
}

/** How the plans of a level were found. */
export interface ScaleReport {
  readonly method: string;
  readonly status: "optimal" | "feasible" | "infeasible";
  /** Quantile of the waiting times; null with the paper's queueing. */
  readonly quantile: number | null;
  /** Index of the task that takes most of the SLO, if there is no plan. */
  readonly bindingTask: number | null;
  /** Plans that were simulated. */
  readonly evaluations: number;
}
