/** Fields that the bundles of all methods have, and tables that several have. */
import type { DeviceDescription, Provider } from "./devices.ts";
import type { ServingPath } from "./serving.ts";

/** Cell of an action table without a decision: for a pooled queue, to wait. */
export const NO_ACTION = 0xffff;
/**
 * Cell of a pooled table that gives the earliest query up: serving it in time would cost more than
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
  /** Latency allowed for a query; with several classes the longest of theirs. */
  readonly latencyMs: number;
  /** Ratio of queries that may take longer; applies to every class. */
  readonly maxViolationRate: number | null;
  /**
   * Percentile of the latency that has to meet `latencyMs` without a ceiling on violations, in (0,
   * 100).
   */
  readonly percentile: number;
  /** Further limits: of the median and of the 95th percentile of latencies. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /** Two or more, if queries have different SLOs; otherwise left out. RAMSIS only. */
  readonly classes?: readonly SloClass[];
}

/**
 * Queries with a latency objective of their own. A query that names no class belongs to the first.
 */
export interface SloClass {
  readonly name: string;
  readonly latencyMs: number;
  /** Share of the load; the shares of all classes sum to 1. */
  readonly share: number;
}

/**
 * Returns the ratio of queries that may miss the SLO: the stated ceiling, or the complement of its
 * percentile.
 */
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
       * Variance over mean of the queries that come within the SLO; 1 for a trace of rates, within
       * which arrivals are Poisson.
       */
      readonly dispersion: number;
      /** Unit of the recorded times, over which equal ones were spread; left out if as recorded. */
      readonly spreadMs?: number;
    };

export interface Cluster {
  readonly communicationLatencyMs: number;
  readonly pools: readonly Pool[];
  /** Left out if no profile has it: latencies are then those of the models alone. */
  readonly serving?: ServingPath;
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  readonly cores: number | null;
  readonly pricePerHour: number | null;
  /** Device of its workers, as `parseDevice` reads it; left out if not stated. */
  readonly device?: string;
  /**
   * Hardware that its times were measured on, with the provider of `device`; left out if not
   * recorded.
   */
  readonly measuredOn?: MeasuredDevice;
  /**
   * URLs of its workers, v2 servers that hold its models; left out for processes of the serving
   * machine.
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

/** Returns the price of a worker per hour in millionths; NaN without one. */
export function priceMicros({ pricePerHour }: Pick<Pool, "pricePerHour">): number {
  return Math.round(MICROS * (pricePerHour ?? Number.NaN));
}

export interface ModelFile {
  /** File name without directories; the server finds it in its models folder. */
  readonly file: string;
  readonly sha256: string;
  /** Tensors as all but the worker see them: axis 0 is the rows of a batch. */
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /** Conversion from and to the file's own tensors; left out if they are the same. */
  readonly adapter?: ModelAdapter;
  /** Axes with one of several sizes; left out if every axis but the rows has a single size. */
  readonly buckets?: readonly BucketAxis[];
  /**
   * Tensors that carry the state of a sequence of requests, at least one pair; left out if requests
   * are independent. RAMSIS only.
   */
  readonly state?: readonly StatePair[];
  /**
   * ONNX files that run after this one in the same worker; left out for a single file. Each takes
   * outputs of earlier files by name, or inputs of the model. The outputs of the last are those of
   * the model. Excludes adapter, buckets, module and remote.
   */
  readonly parts?: readonly ModelPart[];
  /** ES module whose entry is the file; left out for an ONNX file. */
  readonly module?: ModuleReference;
  /** Model on another server; it has no file, and the digest is that of its tensors. */
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

/** The model's `output` is its `input` for the next request of a sequence. */
export interface StatePair {
  readonly input: string;
  /** Same type and row shape as the input, which has no open dimension. */
  readonly output: string;
}

export interface ModuleReference {
  /** Specifier of a package entry, as in `import`; null for a file of the models folder. */
  readonly specifier: string | null;
  /** Options that it is opened with, as JSON whose keys are in ascending order. */
  readonly options: string;
}

export interface RemoteReference {
  /** URL of the server, without a path of the protocol. */
  readonly url: string;
  /** Name on that server. */
  readonly model: string;
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  /** Sizes by dimension; −1 for a dynamic one. */
  readonly shape: readonly number[];
}

/** Conversion of rows to a model's own tensors, and of its outputs to rows. */
export interface ModelAdapter {
  /** Rows that the model takes at once; null for any number. */
  readonly maxRows: number | null;
  /** Inputs of the model, in its order. */
  readonly inputs: readonly AdaptedInput[];
  /** Source of each output of `ModelFile.outputs`, in their order. */
  readonly outputs: readonly AdaptedOutput[];
}

export interface AdaptedInput {
  /** Name in the model. */
  readonly name: string;
  readonly dtype: string;
  /** Shape in the model; −1 for the axis of rows, or an axis with several sizes. */
  readonly shape: readonly number[];
  /** Axis of the rows; null without one, which allows one row at a time. */
  readonly batchAxis: number | null;
  /** Index of `ModelFile.inputs`; null for a constant. */
  readonly from: number | null;
  /** Value of every element; null unless it is a constant. */
  readonly constant: number | null;
  /** Resizing of rows to the model's size; null if they have that size. */
  readonly resize: Resize | null;
}

/** Resizing of an image's height and width. */
export interface Resize {
  /** Stretch, or keep the aspect ratio and pad at the bottom and on the right. */
  readonly fit: "fill" | "pad";
  readonly padding: number;
}

export interface AdaptedOutput {
  /** Name in the model. */
  readonly name: string;
  readonly batchAxis: number | null;
  readonly as: OutputForm;
  /** Number of classes of "top-k". */
  readonly k: number | null;
  /** Names of the classes, in their order; for "ctc" without the blank. */
  readonly labels: readonly string[] | null;
  /** Index of the blank class of "ctc". */
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

/** Form of an output, along its last axis. */
export type OutputForm = (typeof OUTPUT_FORMS)[number];

/** An axis of inputs with one of several sizes: a row is padded to the next larger one. */
export interface BucketAxis {
  /** Inputs with the axis: indices of `ModelFile.inputs`, and of the axis in it, 1 or more. */
  readonly inputs: readonly { readonly input: number; readonly axis: number }[];
  /** Ascending. */
  readonly sizes: readonly number[];
  /** Value of the padding. */
  readonly padding: number;
}

export interface ProfileReference {
  /** File name of the profile, without directories. */
  readonly file: string;
  /** Name of the variant inside the profile. */
  readonly variant: string;
  readonly hardware: string;
  readonly sha256: string;
}

/** Batch service times of a task: axis 0 is the variant, axis 1 the batch size minus one. */
/** Promises at a load if all service times are `pace` times the profile's. */
export interface PaceFigures extends Pick<ExpectedTimes, "queueMs"> {
  readonly pace: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /** Percentiles of the latency of served queries, ms. */
  readonly p50: number;
  readonly p99: number;
}

/** Simulated promises of a level on slower machines; omitted by older compilers. */
export interface PacePromises {
  /**
   * The largest constant pace at which the level keeps its ceiling; 0 if it keeps it at no pace.
   */
  readonly headroom?: number;
  readonly byPace?: readonly PaceFigures[];
}

export interface ServiceTimes {
  /** Percentile of the measured latencies in `decisionMs`; null if the profile does not say. */
  readonly percentile: number | null;
  /**
   * float64 [variantCount, maxBatch]: times that the policy was computed with; non-decreasing along
   * axis 1.
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
   * Largest number of queries in a queue that is not full. The queue is a worker's, or with the
   * pooled balancer that of the cluster.
   */
  readonly maxQueue: number;
  /**
   * float64 [rowCount]: smallest number of queries of each row of an action table, ascending from 1
   * to `maxQueue + 1`, a full queue. If left out, every number has a row, row `queued − 1`.
   */
  readonly queued?: Table;
  /**
   * float64 [slackCount]: ascending from 0 to the SLO; a slack belongs to the last entry that does
   * not exceed it.
   */
  readonly slackMs: Table;
  /** uint16 [actionCount, 2]: variant index, batch size. */
  readonly actions: Table;
}

/** Simulated times of served queries at the load of the level; omitted by older compilers. */
export interface ExpectedTimes {
  readonly latencyMs?: ExpectedLatency;
  /** From when a request has been read until its first batch begins, as servers measure it. */
  readonly queueMs?: ExpectedLatency;
}

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
