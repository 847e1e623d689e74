/** What the bundles of all methods have, and the kinds of table that several hold. */
import type { DeviceDescription, Provider } from "./devices.ts";
import type { ServingPath } from "./serving.ts";

/** Cell of an action table that holds no decision: for a pooled queue, to wait. */
export const NO_ACTION = 0xffff;
/**
 * Cell of a pooled table that gives the earliest query up: to serve it in time would cost more than
 * it is worth. It is served late, or not at all.
 */
export const GIVE_UP = 0xfffe;

export interface CommonFields {
  readonly application: string;
  readonly slo: Slo;
  readonly arrivals: ArrivalModel;
  readonly cluster: Cluster;
  readonly provenance: Provenance;
}

export interface Slo {
  /** What a query may take; with several classes this is the longest of theirs. */
  readonly latencyMs: number;
  /** Ratio of queries that may take longer; it holds for every class. */
  readonly maxViolationRate: number | null;
  /**
   * Percentile of the latency that has to meet `latencyMs` where there is no ceiling on violations,
   * in (0, 100).
   */
  readonly percentile: number;
  /** Further targets: the most that the median and the 95th percentile of latencies may be. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /**
   * Two or more, where queries do not all have the same SLO; left out where they do. RAMSIS only.
   */
  readonly classes?: readonly SloClass[];
}

/**
 * Queries that have a latency objective of their own. A query that names no class is of the first.
 */
export interface SloClass {
  readonly name: string;
  readonly latencyMs: number;
  /** Its share of the load; the shares of all classes sum to 1. */
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
      /**
       * Variance over mean of the queries that come within the SLO; 1 for a trace of rates, inside
       * which arrivals are Poisson.
       */
      readonly dispersion: number;
    };

export interface Cluster {
  readonly communicationLatencyMs: number;
  readonly pools: readonly Pool[];
  /** Left out where no profile has it: latencies are then those of the models alone. */
  readonly serving?: ServingPath;
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  readonly cores: number | null;
  readonly pricePerHour: number | null;
  /** What its workers run models on, as `parseDevice` reads it; left out where nothing says. */
  readonly device?: string;
  /** What its times were measured on, of the provider of `device`; left out where nothing says. */
  readonly measuredOn?: MeasuredDevice;
  /**
   * Where its workers are, v2 servers that hold its models; left out where they are processes of
   * the machine that serves.
   */
  readonly urls?: readonly string[];
}

export interface MeasuredDevice extends DeviceDescription {
  readonly provider: Provider;
}

/**
 * Money is counted in whole millionths of the unit of the prices: their sums are exact, so equal
 * plans cost the same to the last digit.
 */
export const MICROS = 1_000_000;

/** Price of a worker per hour in millionths; NaN without one. */
export function priceMicros({ pricePerHour }: Pick<Pool, "pricePerHour">): number {
  return Math.round(MICROS * (pricePerHour ?? Number.NaN));
}

export interface ModelFile {
  /** File name without directories; the server finds it in its models folder. */
  readonly file: string;
  readonly sha256: string;
  /** As everybody but the worker sees them: axis 0 are the rows of a batch. */
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /** How the tensors of the file become those; left out where they are the same. */
  readonly adapter?: ModelAdapter;
  /** Axes that have one of several sizes; left out where every axis but the rows has one. */
  readonly buckets?: readonly BucketAxis[];
  /**
   * Tensors that carry what a sequence of requests remembers, at least one pair; left out where
   * each request is by itself. RAMSIS only.
   */
  readonly state?: readonly StatePair[];
  /**
   * ONNX files that run after this one in the same worker; left out where there is one. Each takes
   * by name what those before it give, and otherwise an input of the model. What the last one gives
   * are the outputs. No adapter, buckets, module or remote stand beside it.
   */
  readonly parts?: readonly ModelPart[];
  /** An ES module, whose entry the file is; left out for an ONNX file. */
  readonly module?: ModuleReference;
  /** A model of another server; there is no file then, and the digest is that of its tensors. */
  readonly remote?: RemoteReference;
}

/** A further file of a model, with its own tensors. */
export interface ModelPart {
  /** File name without directories. */
  readonly file: string;
  readonly sha256: string;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** What a model gives by `output` it takes with the next request of a sequence by `input`. */
export interface StatePair {
  readonly input: string;
  /** Of the same type and shape of a row as the input, which has no open dimension. */
  readonly output: string;
}

export interface ModuleReference {
  /** Where it is of a package, as `import` names it; null for a file of the models folder. */
  readonly specifier: string | null;
  /** What it is opened with, as JSON whose keys are in ascending order. */
  readonly options: string;
}

export interface RemoteReference {
  /** Of the server, without a path of the protocol. */
  readonly url: string;
  /** As that server names it. */
  readonly model: string;
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  /** A dimension is −1 where it is dynamic. */
  readonly shape: readonly number[];
}

/** How a worker makes a model's own tensors of rows, and rows of what the model gives. */
export interface ModelAdapter {
  /** Rows that the model takes at once; null for any number. */
  readonly maxRows: number | null;
  /** What the model takes, in its order. */
  readonly inputs: readonly AdaptedInput[];
  /** Of each output of `ModelFile.outputs`, in their order, what it is made of. */
  readonly outputs: readonly AdaptedOutput[];
}

export interface AdaptedInput {
  /** As the model calls it. */
  readonly name: string;
  readonly dtype: string;
  /** The model's own; −1 where an axis is the rows, or has one of several sizes. */
  readonly shape: readonly number[];
  /** Which axis is the rows; null where none is, so that one row comes at a time. */
  readonly batchAxis: number | null;
  /** Index of `ModelFile.inputs`; null for a constant. */
  readonly from: number | null;
  /** Every element of it; null unless it is a constant. */
  readonly constant: number | null;
  /** How rows of another size are brought to the model's; null where they have that size. */
  readonly resize: Resize | null;
}

/** Of the last two axes, height and width. */
export interface Resize {
  /** Stretch, or keep the ratio and fill what is left at the bottom and on the right. */
  readonly fit: "fill" | "pad";
  readonly padding: number;
}

export interface AdaptedOutput {
  /** As the model calls it. */
  readonly name: string;
  readonly batchAxis: number | null;
  readonly as: OutputForm;
  /** Classes that are told, of "top-k". */
  readonly k: number | null;
  /** Of the classes, in their order; of "ctc" without the blank. */
  readonly labels: readonly string[] | null;
  /** The class that stands for no label, of "ctc". */
  readonly blank: number | null;
}

export const OUTPUT_FORMS = [
  "tensor",
  "softmax",
  "argmax",
  "top-k",
  "ctc",
  "ctc-confidence",
] as const;

/** What is told of an output, along its last axis. */
export type OutputForm = (typeof OUTPUT_FORMS)[number];

/** An axis of inputs that has one of several sizes: a row is filled up to the next of them. */
export interface BucketAxis {
  /** Where it is: indices of `ModelFile.inputs`, and of the axis in it, 1 or more. */
  readonly inputs: readonly { readonly input: number; readonly axis: number }[];
  /** Ascending. */
  readonly sizes: readonly number[];
  /** What inputs are filled with. */
  readonly padding: number;
}

export interface ProfileReference {
  /** The profile's file name, without directories. */
  readonly file: string;
  /** Name of the variant inside the profile. */
  readonly variant: string;
  readonly hardware: string;
  readonly sha256: string;
}

/** Batch service times of a task: axis 0 is the variant, axis 1 the batch size minus one. */
/** Promises at a load if all service times are `pace` times the profile's. */
export interface PaceFigures {
  readonly pace: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /** Percentiles of the latency of what is served, ms. */
  readonly p50: number;
  readonly p99: number;
}

/** Simulated promises of a level on slower machines; omitted by older compilers. */
export interface PacePromises {
  /** The largest constant pace at which the level keeps its ceiling; 0 where it keeps none. */
  readonly headroom?: number;
  readonly byPace?: readonly PaceFigures[];
}

export interface ServiceTimes {
  /**
   * Percentile of the measured latencies that `decisionMs` holds, or null when the profile does not
   * say.
   */
  readonly percentile: number | null;
  /**
   * float64 [variantCount, maxBatch]: what the policy was computed with; non-decreasing along axis
   * 1.
   */
  readonly decisionMs: Table;
  /**
   * The measured distribution, each float64 [variantCount, maxBatch]; null unless every variant has
   * it.
   */
  readonly quantiles: ServiceTimeQuantiles | null;
}

export interface ServiceTimeQuantiles {
  readonly p50Ms: Table;
  readonly p95Ms: Table;
  readonly p99Ms: Table;
  readonly meanMs: Table;
}

/** Axes and actions shared by the tables of all levels. */
export interface DecisionSpace {
  /**
   * Queries that wait in a queue that is not full. The queue is a worker's, or with the pooled
   * balancer the one of the cluster.
   */
  readonly maxQueue: number;
  /**
   * float64 [rowCount]: the fewest queries that each row of an action table answers for, ascending
   * from 1 to `maxQueue + 1`, a full queue. Absent where every number has a row, row `queued − 1`.
   */
  readonly queued?: Table;
  /**
   * float64 [slackCount]: ascending from 0 to the SLO; a slack belongs to the last entry that is
   * not above it.
   */
  readonly slackMs: Table;
  /** uint16 [actionCount, 2]: variant index, batch size. */
  readonly actions: Table;
}

/** Latencies of what is served while the load is that of the level, ms, from a simulation. */
export interface ExpectedLatency {
  readonly p50: number;
  /** RAMSIS only. */
  readonly p95?: number;
  readonly p99: number;
  readonly max: number;
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

export type Table =
  | { readonly dtype: "float64"; readonly shape: readonly number[]; readonly data: Float64Array }
  | { readonly dtype: "uint16"; readonly shape: readonly number[]; readonly data: Uint16Array };
