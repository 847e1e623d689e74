/**
 * An application as the compiler sees it after the edge: every value checked, in one unit system
 * (ms, queries/s, 0..1), deep-frozen.
 */

import type { Provider, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import type { Binding } from "./binding.ts";
import type { Requirement } from "./schema/requirement.ts";
import type { Trace } from "./trace.ts";
/** @typeParam P policy of the method that it is compiled by, where one is meant. */
export interface Application<P extends Policy = Policy> {
  readonly name: string;
  readonly slo: Slo;
  readonly arrivals: Arrivals;
  /** A day that `compile` is to say the cost of; left out where the spec names none. */
  readonly day?: DayTrace;
  readonly loads: Loads;
  readonly cluster: Cluster;
  /** A rooted DAG in the order of the spec; names are unique. */
  readonly tasks: readonly Task[];
  readonly policy: P;
  /** What its promises have to be; left out where the spec requires nothing. */
  readonly requirements?: readonly Requirement[];
}

export interface Slo {
  /** Where there are classes, the longest of theirs. */
  readonly latencyMs: number;
  readonly maxViolationRate: number | null;
  /** Percentile for planners that bound a latency quantile, in (0, 100). */
  readonly percentile: number;
  /** Further targets: the most that the median and the 95th percentile may be. RAMSIS only. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /**
   * Two or more, of different names, whose shares sum to 1; left out where all queries have the
   * same SLO.
   */
  readonly classes?: readonly SloClass[];
}

export interface SloClass {
  readonly name: string;
  readonly latencyMs: number;
  /** Of the load, in (0, 1). */
  readonly share: number;
}

export type Arrivals =
  | { readonly process: "poisson" }
  /** `cv2` is the squared coefficient of variation of the inter-arrival times, > 0. */
  | { readonly process: "gamma"; readonly cv2: number }
  /** `file` is a path that can be opened as it is. */
  | { readonly process: "trace"; readonly file: string; readonly trace: Trace };

/** `file` is a path that can be opened as it is. */
interface DayTrace {
  readonly file: string;
  readonly trace: Trace;
}

export type Loads =
  /** Strictly ascending, at least one; a range of the spec is a list here. */
  | { readonly kind: "list"; readonly qps: readonly number[] }
  /**
   * Levels are to be placed so that the expected accuracy differs by at most `maxAccuracyStep`
   * between neighbours.
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
  /** Per hop between two tasks of a pipeline; 0 where the path is planned with. */
  readonly communicationLatencyMs: number;
  /** What serving takes beside the models; left out where no profile of a variant says it. */
  readonly serving?: MeasuredServing;
}

/** The way through the server that the application is planned for. */
export interface MeasuredServing extends ProfiledServing {
  /** Whether plans leave time of the SLO to it: the spec does not say what hops take. */
  readonly isPlannedWith: boolean;
  /** Time of the SLO that decisions leave to it, ms; the compiler chooses it. */
  readonly marginMs?: number;
  /** As bundles have it; the compiler says it. */
  readonly stretch?: number;
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  /** Where they are, v2 servers; left out where they are processes of who serves. */
  readonly urls?: readonly string[];
  /** Cores of one worker. */
  readonly cores: number | null;
  /** Price of one worker. */
  readonly pricePerHour: number | null;
  /** What its workers run models on, as the spec says it; left out where it does not. */
  readonly device?: string;
  /** What that is; left out where no pool of the cluster says its device. */
  readonly provider?: Provider;
}

export interface Task {
  readonly name: string;
  /** A task that costs nothing and only fans out; it has no variants. */
  readonly passThrough: boolean;
  /** Names are unique within the task. */
  readonly variants: readonly Variant[];
  readonly to: readonly Edge[];
  /** Whether a query may take several of the edges, each by a chance of its own, or at most one. */
  readonly branch: "independent" | "exclusive";
  /** Share of the load of each bucket; left out where the spec does not say. They sum to 1. */
  readonly bucketShares?: readonly number[];
}

export interface Edge {
  readonly task: string;
  /** Share of the queries that take the edge, 0..1. */
  readonly share: number;
  /**
   * The output of this task that each input of the next one takes, by input; null when the names
   * are the same.
   */
  readonly inputs: Readonly<Record<string, string>> | null;
  /** Output with the number of rows sent on for each row; null for one each. */
  readonly count: string | null;
  /** Joins the rows that were made of one: all of them, or each so many; left out for neither. */
  readonly gather?: "all" | number;
  /**
   * Whether a query may send any number along the edge: its fan-out is above 1, or was written
   * beside a count. Left out where it sends itself on by a chance.
   */
  readonly multiplies?: true;
}

export interface Variant {
  readonly name: string;
  readonly accuracy: number;
  /** What holds for the first pool; the first of all where none does. */
  readonly profile: VariantProfile;
  /** All that the spec names; at most one for each hardware and provider. */
  readonly profiles: readonly VariantProfile[];
  /**
   * Path of the model file that can be opened as it is; of several files, and of what is no ONNX
   * file, what names it among the models of the application.
   */
  readonly model: string | null;
  /** Paths of files that run in a row, at least two; left out where there is one. */
  readonly chain?: readonly string[];
  /** How the model's tensors are used; left out where the model says all. */
  readonly binding?: Binding;
  /** What the model is where it is no ONNX file; left out where it is one, or there is none. */
  readonly host?: HostVariant;
  /** By the model's own names, at least one pair; left out where requests are by themselves. */
  readonly state?: readonly StateTensors[];
  /** Mean queries sent downstream per query served: to every child, or per child task. */
  readonly fanout: number | Readonly<Record<string, number>> | null;
}

/** What a model gives by `output` it takes with the next request of a sequence by `input`. */
export interface StateTensors {
  readonly input: string;
  readonly output: string;
}

export type HostVariant =
  | {
      readonly kind: "module";
      /** Path of its file that can be opened as it is; null where a package has it. */
      readonly path: string | null;
      /** As `import` names what a package has; null where it is a file. */
      readonly specifier: string | null;
      /** JSON whose keys are in ascending order. */
      readonly options: string;
      /** Of the spec, absolute. */
      readonly folder: string;
    }
  | { readonly kind: "remote"; readonly url: string; readonly model: string };

/** What a latency profile says of one variant. */
export interface VariantProfile {
  /** File name without directories. */
  readonly file: string;
  /** Name of the variant inside the profile. */
  readonly variant: string;
  readonly sha256: string;
  readonly hardware: string;
  /** What it was measured on; left out where the profile does not say. */
  readonly device?: ProfiledDevice;
  /** What a worker took until it could run the variant; left out where the profile does not say. */
  readonly start?: StartTimes;
  /** What serving takes beside models; left out where the profile does not say. */
  readonly serving?: ProfiledServing;
  readonly task: string | null;
  /** Percentile that rows given as bare numbers hold. */
  readonly percentile: number | null;
  /** True where its times have the way to workers of other machines in them; else left out. */
  readonly includesWay?: true;
  /** Ascending in batch; empty when the profile has only `fit` or `byCores`. */
  readonly rows: readonly ProfileRow[];
  /**
   * Where axes of its inputs have lists of sizes: of each bucket the rows, in the order of the
   * product of the axes, the first axis slowest; `rows` are then those of the last. Left out where
   * there are none.
   */
  readonly buckets?: readonly BucketProfile[];
  readonly fit: LatencyFit | null;
  /** Ascending in cores. */
  readonly byCores: readonly CoreProfile[] | null;
  readonly layers: LayerProfile | null;
  /**
   * By number of execution places, ascending from 2: how many times as fast a pipeline of so many
   * is, above 0; null where not given.
   */
  readonly speedups: readonly { readonly places: number; readonly speedup: number }[] | null;
}

export interface ProfiledDevice {
  readonly provider: Provider;
  /** As its driver names it; of processors their model. */
  readonly name: string;
  readonly driver: string | null;
}

/** What a profile says of the way through the server. */
export type ProfiledServing = Omit<ServingPath, "marginMs">;

/** Each at least 0. */
export interface StartTimes {
  /** Of a new worker, until it can load a model. */
  readonly processMs: number;
  readonly loadMs: number;
  /** Of the first runs, those of every batch. */
  readonly warmMs: number;
}

/** Times of one instance, layer by layer. */
export interface LayerProfile {
  /** Of each layer, each above 0; together they take as long as the whole. */
  readonly layerMs: readonly number[];
  /** What a stage takes beyond its layers: the way to the place and back, at least 0. */
  readonly overheadMs: number;
  /**
   * Runs of layers `from` to `to` − 1 that were measured as one stage, as who asks for them sees
   * it.
   */
  readonly stages: readonly {
    readonly from: number;
    readonly to: number;
    readonly quantiles: LatencyQuantiles;
  }[];
}

/** What a profile says of batches of one bucket. */
export interface BucketProfile {
  /** Its sizes joined by `x`. */
  readonly name: string;
  /** Of each axis. */
  readonly sizes: readonly number[];
  /** Ascending in batch, at least one. */
  readonly rows: readonly ProfileRow[];
}

export interface ProfileRow {
  readonly batch: number;
  /** The number as given, or the p95 of a row that gives quantiles. */
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
  /** Undefined where it is left to the profiles. */
  readonly serviceTimes?: "p95" | "quantiles" | undefined;
  readonly drop: boolean;
  /** Latency of a late query at most, in times the SLO, at least 2; null without a bound. */
  readonly lateWithinSlos: number | null;
  /** How classes are served; undefined where there are none, and where it is left to us. */
  readonly classes?: "auto" | "shared" | "separate" | undefined;
  /** Accuracy per SLO of mean latency, from 0 to 1; undefined for the compiler's default. */
  readonly latencyPrice?: number | undefined;
}

export interface LokiPolicy {
  readonly method: "loki";
  /** Part of the SLO that execution and communication may use, in (0, 1]. */
  readonly sloFraction: number;
  readonly accuracyOf: PathAccuracy;
  /** One weight per leaf task; equal weights that sum to 1 unless the spec gives them. */
  readonly leafWeights: Readonly<Record<string, number>>;
  /** What plans carry beyond their load, relative to it, or as much as the SLO takes. */
  readonly headroom: number | "auto";
  readonly oneBatchPerVariant: boolean;
  readonly solver: "auto" | "glpk" | "highs";
  /** Longest time for one optimisation, ms. */
  readonly solveLimitMs: number;
  readonly routing: "auto" | "plan" | "most-accurate-first";
  readonly drop: "none" | "last-task" | "per-task" | "reroute" | "deadline";
  readonly stagePolicy: "fixed" | "ramsis";
  /** Time a server takes to load another variant, ms. */
  readonly modelLoadMs: number;
  /** Says that it is what profiles measured, not what was given. */
  readonly startFrom?: "profiles";
}

/** End-to-end accuracy of a path of variants. */
export type PathAccuracy =
  | { readonly kind: "product" }
  /**
   * Arithmetic over task names, for `compileExpression`; it holds for every value of the
   * accuracies.
   */
  | { readonly kind: "expression"; readonly expression: string }
  /**
   * Keys are variant names from root to leaf joined by `|`, pass-through tasks left out; every path
   * has its key.
   */
  | { readonly kind: "table"; readonly accuracyByPath: Readonly<Record<string, number>> };

export interface InferlinePolicy {
  readonly method: "inferline";
  readonly refine: "exact" | "none";
  /** Cheaper hardware that greedy tries for a task. */
  readonly downgrade: "next" | "any";
  /** Part of the SLO kept free, in [0, 1). */
  readonly margin: number | "auto";
  /** Sample traces that a plan has to meet the SLO on. */
  readonly traces: number;
  readonly sampleDurationMs: number;
  /** Requests that a sample trace has at least, in the mean; left out for any number. */
  readonly sampleRequests?: number;
  readonly sampleSeed: number;
  /** Longest time for one optimisation, ms. */
  readonly solveLimitMs: number;
  readonly betweenBatches: "next" | "linear";
  readonly tuner: "joint" | "relative" | "paper" | "none";
  /**
   * Standard deviations of a window's count above the sample's envelope that do not count as
   * excess, in [0, 100].
   */
  readonly tolerance: number;
  /** Time a replica takes to come up, in simulations. */
  readonly activationMs: number;
  /** What an autoscaler adds to that; left out where nobody is in between. */
  readonly scalerDelay?: ScalerDelay;
  /** Says that it is what profiles measured, not what was given. */
  readonly startFrom?: "profiles";
}

export interface ThemisPolicy {
  readonly method: "themis";
  readonly maxBatch: number;
  readonly maxCores: number;
  readonly queueing: "stochastic" | "paper";
  /** Of stochastic waiting times, in [0, 1). */
  readonly quantile: number | "auto";
  readonly solver: "exact" | "paper";
  readonly scaling: "joint" | "themis" | "horizontal" | "vertical";
  readonly predictor: "last-max" | "ewma" | "holt" | "poisson-peak" | "lstm";
  readonly tickMs: number;
  readonly stableTicks: number;
  readonly resizeMs: number;
  readonly coldStartMs: number;
  /** What an autoscaler adds to that; left out where nobody is in between. */
  readonly scalerDelay?: ScalerDelay;
  /** Says that it is what profiles measured, not what was given. */
  readonly startFrom?: "profiles";
  readonly extraCores: "same" | "one";
  /** In times the SLO, above 0; null for never. */
  readonly dropAfterSlos: number | null;
  /** Whether the rest of a query's way counts with its age; left out where that alone counts. */
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
  /** In times the SLO, above 0; null for never. */
  readonly dropAfterSlos: number | null;
  readonly dropout: "turn" | "arrival";
  readonly meanBatch: number;
  readonly batchSigma: number;
  readonly lowShare: number;
}

/** An autoscaler sees what is wanted when it is polled, and acts when it looks next. */
export interface ScalerDelay {
  /** Time between two looks of the horizontal pod autoscaler. */
  readonly syncMs: number;
  /** Time between two polls of what is wanted; 0 where each look asks. */
  readonly pollingMs: number;
}
