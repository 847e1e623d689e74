/** The bundle of Themis: plans for stages of any number of cores and instances. */
import type {
  CommonFields,
  ExpectedLatency,
  ModelFile,
  PacePromises,
  ProfileReference,
  Table,
} from "./common.ts";
import type { Branch, StageTask } from "./graph.ts";

/**
 * A pipeline whose stages run one model each at a time: plans say which of a task's variants, on
 * how many instances of how many cores, and in what batches; and how one becomes another.
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
   * instance, and instances to add, when the instances of the row's plan have to carry the
   * column's load at once. Cores are at least those of the row's plan; up to the diagonal a row
   * repeats its plan. The variants are those of the row's plan.
   */
  readonly transitions: Table;
  /** Ascending in `loadQps`, at least one. */
  readonly levels: readonly ThemisLevel[];
  /**
   * Plans for slower machines, ascending by load times pace, above the highest level. In
   * `transitions` they follow the levels. Left out where there are none.
   */
  readonly paceLevels?: readonly ThemisPaceLevel[];
}

/** The plan of a load on a machine whose batches take `pace` times what `tasks` say. */
export interface ThemisPaceLevel extends Pick<ThemisLevel, "loadQps" | "capacityQps" | "steady"> {
  /** Above 1. */
  readonly pace: number;
}

/** Levels and pace levels, by ascending load on a machine as profiled. */
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
  /** What a plan chooses one of. One that runs in several pools is there once for each. */
  readonly variants: readonly ScaledVariant[];
}

export interface ScaledVariant {
  readonly name: string;
  /** Measured accuracy on what reaches the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  readonly profile: ProfileReference;
  /** Index of the pool whose times these are; left out for the first. */
  readonly pool?: number;
  readonly latency: LatencyByCores;
}

/** What a batch takes on any number of cores. Source: Themis §4.1. */
export interface LatencyByCores {
  /**
   * float64 [maxCores, maxBatch]: above 0, non-decreasing along axis 1. Measured where there are
   * rows, else fitted.
   */
  readonly ms: Table;
  /** l(b, c) = γ b / c + ε / c + δ b + η in ms; null where there are too few points. */
  readonly fit: LatencyFit | null;
  /**
   * float64 [pointCount, 3]: batch, cores and latency in ms as measured, by ascending cores and
   * batch; empty where the fit was given.
   */
  readonly points: Table;
  /**
   * float64 [pointCount, 4]: p50, p95, p99 and mean of the points in ms; left out where a point was
   * measured without, and where profiles say nothing of serving.
   */
  readonly quantiles?: Table;
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

/**
 * Options of the Themis solver and of the runtime that scales by its plans, every field explicit.
 */
export interface ThemisOptions {
  readonly maxBatch: number;
  /** Most cores of one instance. */
  readonly maxCores: number;
  /**
   * Paper: a query waits for its batch, (b − 1) / λ, and for nothing else. Stochastic: what it
   * waits at a quantile when arrivals are random.
   */
  readonly queueing: "stochastic" | "paper";
  /**
   * Of the waiting times of the stochastic model; auto: as low as makes a simulation of the plan
   * keep the ceiling on violations.
   */
  readonly quantile: number | "auto";
  readonly solver: "exact" | "paper";
  /**
   * Which plans are followed. Joint: the cheapest of any kind; a burst is met with cores at once,
   * and with the instances of the plan for it. Themis: as the paper, cores at once and 1-core
   * instances when the load is steady. Horizontal: instances only, as FA2. Vertical: cores only, as
   * Sponge.
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
  /** Says that `coldStartMs` is what profiles measured; left out where it was given. */
  readonly startFrom?: "profiles";
  /** Cores of the instances that are added where the present ones are not enough. */
  readonly extraCores: "same" | "one";
  /**
   * A query that is older than so many times the SLO when its turn comes is given up; null: never.
   */
  readonly dropAfterSlos: number | null;
  /**
   * Rest: what its batch and the rest of its way are to take counts with its age. Left out where
   * its age alone counts, as in the paper.
   */
  readonly dropRule?: "rest";
}

type PredictorName = "last-max" | "ewma" | "holt" | "poisson-peak" | "lstm";

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
  /** What all instances have: the sum of cores times instances. */
  readonly cores: number;
  /** What the longest path takes by the model: processing, queueing and hops. */
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
 * What a simulation of random arrivals at the load of the plan gives, its instances as they are.
 */
export interface ScaleExpected extends PacePromises {
  readonly violationRate: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMs?: ExpectedLatency;
  readonly requests: number;
  readonly seed: number;
  /**
   * Cores that are held while the load is that of the level, and what they cost, in the mean; of
   * the plan that is followed. The cost is left out where a pool has no price.
   */
  readonly cores?: number;
  readonly costPerHour?: number;
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
