/** What the bundles of all methods have, and the kinds of table that several hold. */

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
}

export interface Pool {
  readonly name: string;
  readonly hardware: string | null;
  readonly workers: number;
  readonly cores: number | null;
  readonly pricePerHour: number | null;
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
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /**
   * Tensors that carry what a sequence of requests remembers, at least one pair; left out where
   * each request is by itself. RAMSIS only.
   */
  readonly state?: readonly StatePair[];
}

/** What a model gives by `output` it takes with the next request of a sequence by `input`. */
export interface StatePair {
  readonly input: string;
  /** Of the same type and shape of a row as the input, which has no open dimension. */
  readonly output: string;
}

export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  /** A dimension is −1 where it is dynamic. */
  readonly shape: readonly number[];
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
