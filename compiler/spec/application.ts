/**
 * Application as the compiler sees it after parsing: every value checked, in one unit system (ms,
 * queries/s, 0..1), deep-frozen.
 */

import type { Provider, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import type { Binding } from "./binding.ts";
import type { Requirement } from "./schema/requirement.ts";
import type { Trace } from "./trace.ts";
/** @typeParam P policy type of the method, for code of one method. */
export interface Application<P extends Policy = Policy> {
  readonly name: string;
  readonly slo: Slo;
  readonly arrivals: Arrivals;
  /** Day whose cost `compile` reports; left out if the spec has none. */
  readonly day?: DayTrace;
  readonly loads: Loads;
  readonly cluster: Cluster;
  /** Rooted DAG in the order of the spec; names are unique. */
  readonly tasks: readonly Task[];
  readonly policy: P;
  /** Requirements on promises; left out if the spec has none. */
  readonly requirements?: readonly Requirement[];
}

export interface Slo {
  /** The longest SLO of the classes, if there are classes. */
  readonly latencyMs: number;
  readonly maxViolationRate: number | null;
  /** Percentile for planners that bound a latency quantile, in (0, 100). */
  readonly percentile: number;
  /** Additional upper bounds of the median and the 95th percentile. RAMSIS only. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /**
   * Two or more with different names, whose shares sum to 1; left out if all queries have the same
   * SLO.
   */
  readonly classes?: readonly SloClass[];
}

export interface SloClass {
  readonly name: string;
  readonly latencyMs: number;
  /** Share of the load, in (0, 1). */
  readonly share: number;
}

export type Arrivals =
  | { readonly process: "poisson" }
  /** `cv2` is the squared coefficient of variation of the inter-arrival times, > 0. */
  | { readonly process: "gamma"; readonly cv2: number }
  /** `file` is a path that can be opened directly. */
  | { readonly process: "trace"; readonly file: string; readonly trace: Trace };

/** `file` is a path that can be opened directly. */
interface DayTrace {
  readonly file: string;
  readonly trace: Trace;
}

export type Loads =
  /** Strictly ascending, at least one; ranges of the spec are expanded. */
  | { readonly kind: "list"; readonly qps: readonly number[] }
  /**
   * Places levels so that the expected accuracy of neighbours differs by at most `maxAccuracyStep`.
   */
  | {
      readonly kind: "adaptive";
      readonly fromQps: number;
      readonly toQps: number;
      readonly maxAccuracyStep: number;
    };

export interface Cluster {
  /** At least one; names are unique. */
  readonly pools: readonly Pool[];
  /** Per hop between two tasks of a pipeline; 0 if plans include the serving path. */
  readonly communicationLatencyMs: number;
  /** Serving overhead beyond the models; left out if no profile of a variant has it. */
  readonly serving?: MeasuredServing;
}

/** Serving path that the application is planned for. */
export interface MeasuredServing extends ProfiledServing {
  /**
   * True if plans reserve part of the SLO for it, because the spec does not state the latency of
   * hops.
   */
  readonly isPlannedWith: boolean;
  /** Part of the SLO reserved for it, ms; chosen by the compiler. */
  readonly marginMs?: number;
  /** Set by the compiler for bundles. */
  readonly stretch?: number;
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  /** URLs of v2 servers; left out for processes of the server itself. */
  readonly urls?: readonly string[];
  /** Cores of one worker. */
  readonly cores: number | null;
  /** Price of one worker. */
  readonly pricePerHour: number | null;
  /** Device as the spec names it; left out if it names none. */
  readonly device?: string;
  /** Provider of the device; left out if no pool of the cluster names a device. */
  readonly provider?: Provider;
}

export interface Task {
  readonly name: string;
  /** True for a task that costs nothing and only fans out; it has no variants. */
  readonly passThrough: boolean;
  /** Names are unique within the task. */
  readonly variants: readonly Variant[];
  readonly to: readonly Edge[];
  /** Whether a query may take several edges independently, or at most one. */
  readonly branch: "independent" | "exclusive";
  /** Share of the load of each bucket, sum 1; left out if the spec has none. */
  readonly bucketShares?: readonly number[];
}

export interface Edge {
  readonly task: string;
  /** Share of the queries that take the edge, 0..1. */
  readonly share: number;
  /** Output of this task for each input of the next one; null if the names are the same. */
  readonly inputs: Readonly<Record<string, string>> | null;
  /** Output with the number of rows to send on for each row; null for one each. */
  readonly count: string | null;
  /**
   * Joins the rows of one parent row: all of them, or in groups of a size; left out for neither.
   */
  readonly gather?: "all" | number;
  /**
   * True if a query may send any number along the edge: its fan-out is above 1, or is given beside
   * a count. Left out if it is sent on with a probability.
   */
  readonly multiplies?: true;
}

export interface Variant {
  readonly name: string;
  readonly accuracy: number;
  /** Profile for the first pool; the first profile if none fits. */
  readonly profile: VariantProfile;
  /** Profiles in the spec; at most one per hardware and provider. */
  readonly profiles: readonly VariantProfile[];
  /**
   * Path of the model file that can be opened directly; for several files, and for modules and
   * servers, the model's key within the application.
   */
  readonly model: string | null;
  /** Paths of files that run in sequence, at least two; left out for one file. */
  readonly chain?: readonly string[];
  /** Use of the model's tensors; left out if the model defines it. */
  readonly binding?: Binding;
  /** Module or server that runs the model; left out for an ONNX file, or without a model. */
  readonly host?: HostVariant;
  /** State by the model's own names, at least one pair; left out if requests are independent. */
  readonly state?: readonly StateTensors[];
  /** Mean queries sent downstream per query served: to every child, or per child task. */
  readonly fanout: number | Readonly<Record<string, number>> | null;
}

/** Feeds `output` back to `input` with the next request of a sequence. */
export interface StateTensors {
  readonly input: string;
  readonly output: string;
}

export type HostVariant =
  | {
      readonly kind: "module";
      /** Path of the file that can be opened directly; null for a package. */
      readonly path: string | null;
      /** Import specifier of a package; null for a file. */
      readonly specifier: string | null;
      /** JSON with keys in ascending order. */
      readonly options: string;
      /** Folder of the spec, absolute. */
      readonly folder: string;
    }
  | { readonly kind: "remote"; readonly url: string; readonly model: string };

/** Latency profile of one variant. */
export interface VariantProfile {
  /** File name without directories. */
  readonly file: string;
  /** Name of the variant inside the profile. */
  readonly variant: string;
  readonly sha256: string;
  /** `modelDigest` of the measured model; left out if the profile does not name it. */
  readonly modelSha256?: string;
  readonly hardware: string;
  /** Measured device; left out if the profile does not name it. */
  readonly device?: ProfiledDevice;
  /** Start times of a worker for the variant; left out if the profile has none. */
  readonly start?: StartTimes;
  /** Serving overhead beyond models; left out if the profile has none. */
  readonly serving?: ProfiledServing;
  readonly task: string | null;
  /** Percentile of rows given as plain numbers. */
  readonly percentile: number | null;
  /** True if its times include the network to workers on other machines; otherwise left out. */
  readonly includesWay?: true;
  /** Ascending in batch; empty if the profile has only `fit` or `byCores`. */
  readonly rows: readonly ProfileRow[];
  /**
   * Rows of each bucket if axes of its inputs have several sizes, in the order of the product of
   * the axes, the first axis slowest; `rows` are then those of the last bucket. Otherwise left out.
   */
  readonly buckets?: readonly BucketProfile[];
  readonly fit: LatencyFit | null;
  /** Ascending in cores. */
  readonly byCores: readonly CoreProfile[] | null;
  readonly layers: LayerProfile | null;
  /**
   * Speed-up of a pipeline by number of execution places, ascending from 2 places, above 0; null if
   * not given.
   */
  readonly speedups: readonly { readonly places: number; readonly speedup: number }[] | null;
}

export interface ProfiledDevice {
  readonly provider: Provider;
  /** Name from the driver; for CPUs the processor model. */
  readonly name: string;
  readonly driver: string | null;
}

export type ProfiledServing = Omit<ServingPath, "marginMs">;

/** Each at least 0. */
export interface StartTimes {
  /** Time of a new worker until it can load a model. */
  readonly processMs: number;
  readonly loadMs: number;
  /** Time of the first runs of every batch. */
  readonly warmMs: number;
}

/** Times of one instance by layer. */
export interface LayerProfile {
  /** Time of each layer, above 0; they sum to the time of the whole model. */
  readonly layerMs: readonly number[];
  /** Time of a stage beyond its layers: transfer to the place and back, at least 0. */
  readonly overheadMs: number;
  /** Layers `from` to `to` − 1 measured as one stage, as its caller observes it. */
  readonly stages: readonly {
    readonly from: number;
    readonly to: number;
    readonly quantiles: LatencyQuantiles;
  }[];
}

/** Latencies of batches of one bucket. */
export interface BucketProfile {
  /** Sizes joined by `x`. */
  readonly name: string;
  /** Size of each axis. */
  readonly sizes: readonly number[];
  /** Ascending in batch, at least one. */
  readonly rows: readonly ProfileRow[];
}

export interface ProfileRow {
  readonly batch: number;
  /** The plain number, or the p95 of a row with quantiles. */
  readonly latencyMs: number;
  readonly quantiles: LatencyQuantiles | null;
}

export interface LatencyQuantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}

/** Themis: latency of batch b on c cores is γb/c + ε/c + δb + η, in ms. */
export interface LatencyFit {
  readonly gamma: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly eta: number;
}

export interface CoreProfile {
  readonly cores: number;
  readonly rows: readonly ProfileRow[];
}

export type Policy = RamsisPolicy | LokiPolicy | InferlinePolicy | ThemisPolicy | AccordionPolicy;
export type MethodName = Policy["method"];
export type PolicyOf<M extends MethodName> = Extract<Policy, { readonly method: M }>;

export interface RamsisPolicy {
  readonly method: "ramsis";
  readonly objective: "per-query" | "per-decision";
  readonly discretization:
    | { readonly kind: "fixed"; readonly steps: number }
    | { readonly kind: "model-based" };
  readonly batching: "maximal" | "variable";
  readonly maxQueue: number;
  readonly extrapolate: boolean;
  readonly balancer: "round-robin" | "shortest-queue" | "pooled";
  /** Undefined if it follows from the profiles. */
  readonly serviceTimes?: "p95" | "quantiles" | undefined;
  readonly drop: boolean;
  /** Latest answer of a late query, in multiples of the SLO, at least 2; null without a bound. */
  readonly lateWithinSlos: number | null;
  /** How classes are served; undefined without classes, or for the compiler's choice. */
  readonly classes?: "auto" | "shared" | "separate" | undefined;
  /** Accuracy per SLO of mean latency, from 0 to 1; undefined for the compiler's default. */
  readonly latencyPrice?: number | undefined;
}

export interface LokiPolicy {
  readonly method: "loki";
  /** Part of the SLO that execution and communication may use, in (0, 1]. */
  readonly sloFraction: number;
  readonly accuracyOf: PathAccuracy;
  /** Weight of each leaf task; by default equal weights that sum to 1. */
  readonly leafWeights: Readonly<Record<string, number>>;
  /**
   * Load that plans carry beyond their level's, relative to it; `auto` for as much as the SLO
   * needs.
   */
  readonly headroom: number | "auto";
  readonly oneBatchPerVariant: boolean;
  readonly solver: "auto" | "glpk" | "highs";
  /** Time limit of one optimisation, ms. */
  readonly solveLimitMs: number;
  readonly routing: "auto" | "plan" | "most-accurate-first";
  readonly drop: "none" | "last-task" | "per-task" | "reroute" | "deadline";
  readonly stagePolicy: "fixed" | "ramsis";
  /** Time a server takes to load another variant, ms. */
  readonly modelLoadMs: number;
  /** Set if start times are from profiles instead of the spec. */
  readonly startFrom?: "profiles";
}

/** End-to-end accuracy of a path of variants. */
export type PathAccuracy =
  | { readonly kind: "product" }
  /** Arithmetic over task names, for `compileExpression`; valid for all accuracies. */
  | { readonly kind: "expression"; readonly expression: string }
  /**
   * Keys are variant names from root to leaf joined by `|`, without pass-through tasks; every path
   * has a key.
   */
  | { readonly kind: "table"; readonly accuracyByPath: Readonly<Record<string, number>> };

export interface InferlinePolicy {
  readonly method: "inferline";
  readonly refine: "exact" | "none";
  /** Cheaper hardware that greedy tries for a task. */
  readonly downgrade: "next" | "any";
  /** Part of the SLO kept free, in [0, 1). */
  readonly margin: number | "auto";
  /** Sample traces on which a plan must meet the SLO. */
  readonly traces: number;
  readonly sampleDurationMs: number;
  /** Fewest requests of a sample trace, on average; left out for any number. */
  readonly sampleRequests?: number;
  readonly sampleSeed: number;
  /** Time limit of one optimisation, ms. */
  readonly solveLimitMs: number;
  readonly betweenBatches: "next" | "linear";
  readonly tuner: "joint" | "relative" | "paper" | "none";
  /**
   * Standard deviations of a window's count above the sample's envelope that do not count as
   * excess, in [0, 100].
   */
  readonly tolerance: number;
  /** Start time of a replica in simulations. */
  readonly activationMs: number;
  /** Additional delay of an autoscaler; left out without one. */
  readonly scalerDelay?: ScalerDelay;
  /** Set if start times are from profiles instead of the spec. */
  readonly startFrom?: "profiles";
}

export interface ThemisPolicy {
  readonly method: "themis";
  readonly maxBatch: number;
  readonly maxCores: number;
  readonly queueing: "stochastic" | "paper";
  /** Quantile of stochastic waiting times, in [0, 1). */
  readonly quantile: number | "auto";
  readonly solver: "exact" | "paper";
  readonly scaling: "joint" | "themis" | "horizontal" | "vertical";
  readonly predictor: "last-max" | "ewma" | "holt" | "poisson-peak" | "lstm";
  readonly tickMs: number;
  readonly stableTicks: number;
  readonly resizeMs: number;
  readonly coldStartMs: number;
  /** Additional delay of an autoscaler; left out without one. */
  readonly scalerDelay?: ScalerDelay;
  /** Set if start times are from profiles instead of the spec. */
  readonly startFrom?: "profiles";
  readonly extraCores: "same" | "one";
  /** In multiples of the SLO, above 0; null for never. */
  readonly dropAfterSlos: number | null;
  /**
   * Set if the remaining time of a query counts in addition to its age; left out if only the age
   * counts.
   */
  readonly dropRule?: "rest";
}

export interface AccordionPolicy {
  readonly method: "accordion";
  readonly executionPlaces: number;
  readonly maxDepth: number;
  readonly timing: "pipelined" | "paper";
  readonly maxBatch: number;
  readonly scheduler: "accordion" | "slo-conforming" | "fastest" | "bbs" | "one-stage";
  readonly regrow: boolean;
  readonly backfill: boolean;
  readonly reconfigurationMs: number;
  /** In multiples of the SLO, above 0; null for never. */
  readonly dropAfterSlos: number | null;
  readonly dropout: "turn" | "arrival";
  readonly meanBatch: number;
  readonly batchSigma: number;
  readonly lowShare: number;
}

/**
 * Delay of an autoscaler, which learns the wanted replicas when it polls, and acts at its next
 * sync.
 */
export interface ScalerDelay {
  /** Sync period of the horizontal pod autoscaler. */
  readonly syncMs: number;
  /** Polling period of the wanted replicas; 0 if each sync polls. */
  readonly pollingMs: number;
}
