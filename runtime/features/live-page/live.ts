/** Document of the live page: the values of `GET /metrics` along with the promises. */

export const LIVE_FORMAT = "stratagem-live/1";

/** Path relative to the page, which may be behind a proxy's prefix. */
export const LIVE_PATH = "v2/stratagem/live";

/** Counters start with the server; null stands for an unknown value. */
export interface LiveDocument {
  readonly format: typeof LIVE_FORMAT;
  /** Time of creation, milliseconds since 1970. */
  readonly atMs: number;
  readonly version: string;
  readonly state: ServerState;
  readonly applications: readonly LiveApplication[];
  /** Number of applications omitted. */
  readonly applicationsLeftOut: number;
}

/** A server that has lost its workers is "starting" too. */
export type ServerState = "starting" | "ready" | "draining";

export interface LiveApplication {
  readonly name: string;
  readonly method: string;
  readonly bundleSha256: string;
  readonly isReady: boolean;
  readonly slo: {
    readonly latencyMs: number;
    /** Ratio of rows that may be late or dropped, as stated or implied by a percentile. */
    readonly maxViolationRate: number;
  };
  /** Measured load in rows per second. */
  readonly loadQps: number | null;
  /** Index of the level whose promise applies. */
  readonly level: number | null;
  /** Whether the policy follows this level; otherwise it is derived from the measured load. */
  readonly isLevelFollowed: boolean;
  readonly levelCount: number;
  readonly levels: readonly LiveLevel[];
  /** Rows that wait or run; in pipelines, queries of all tasks. */
  readonly pending: number | null;
  readonly workers: LiveWorkers;
  /** Null if the method does not measure it. */
  readonly pace: LivePace | null;
  readonly rows: LiveRows;
  /** Sum of the profiled accuracies of rows answered in time. */
  readonly satisfiedAccuracy: number | null;
  readonly requests: {
    readonly answered: number;
    readonly failed: number;
    /** Total latency of the answered requests. */
    readonly answeredMs: number;
  };
  /** Latency of answered requests, ms. */
  readonly latency: LiveHistogram | null;
  /** Time from the start of a batch or query to its earliest deadline, ms. */
  readonly slack: LiveHistogram | null;
  readonly variants: readonly LiveVariant[];
  readonly variantsLeftOut: number;
  readonly classes: readonly LiveClass[];
  readonly places: LivePlaces | null;
  /** Promise for the measured load and pace; null where none applies. */
  readonly promised: Pick<LiveLevel, "accuracy" | "violationRate">;
  /** Empty if promises are not watched. */
  readonly promises: readonly LivePromise[];
}

/** State of a promise according to sequential tests. */
export interface LivePromise {
  /** Name such as "violations". */
  readonly promise: string;
  readonly holds: boolean;
  /** Whether it holds although some measurements contradict it. */
  readonly isDoubted: boolean;
  /** Text such as "✓ arrivals: holds", or the start and reason of the violation. */
  readonly text: string;
}

/** A level with the promises of the bundle. */
export interface LiveLevel {
  readonly index: number;
  readonly loadQps: number;
  /** Pace that the level was solved for. */
  readonly pace: number;
  readonly feasible: boolean;
  /** Mean over rows answered in time. */
  readonly accuracy: number | null;
  readonly violationRate: number | null;
  readonly p99Ms: number | null;
}

interface LiveWorkers {
  readonly count: number | null;
  readonly ready: number | null;
  /** Since the start; `lost` includes `hung`. */
  readonly lost: number;
  readonly hung: number;
}

/** Service times relative to the profile: 1 as profiled, 2 half as fast. */
export interface LivePace {
  /** Pace of all running workers. */
  readonly pool: number;
  /** Load of the cluster per query relative to the profile, including missing workers. */
  readonly stretch: number;
  /** Running workers, up to a limit. */
  readonly workers: readonly {
    readonly pool: string;
    readonly worker: number;
    readonly pace: number;
  }[];
  /** Corrections to the pace, by variant and batch size (up to twice that size). */
  readonly corrections: readonly {
    readonly variant: string;
    readonly batch: number;
    readonly correction: number;
  }[];
}

/** Rows by outcome. */
export interface LiveRows {
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
}

export interface LiveHistogram {
  /** Ascending; one more count covers values above the last. */
  readonly bounds: readonly number[];
  /** Not cumulative. */
  readonly counts: readonly number[];
}

export interface LiveVariant {
  readonly task: string;
  readonly name: string;
  readonly accuracy: number | null;
  /** Rows that the variant ran. */
  readonly rows: number;
  /** Batches started, or null if rows run one by one. */
  readonly batches: number | null;
  /** Workers planned for the variant, and those that are ready. */
  readonly assigned: number | null;
  readonly ready: number | null;
  /** Target number of cores per worker, if it varies. */
  readonly cores: number | null;
  /** In malleable pipelines: the sum of starting places over queries, and the number of queries. */
  readonly startPlaces: number | null;
  readonly starts: number | null;
}

export interface LiveClass extends LiveRows {
  readonly name: string;
  readonly latencyMs: number | null;
  readonly satisfiedAccuracy: number;
  readonly promisedAccuracy: number | null;
  readonly promisedViolationRate: number | null;
}

export interface LivePlaces {
  readonly count: number;
  readonly ready: number;
  readonly busy: number;
  readonly running: number;
  readonly waiting: number;
}
