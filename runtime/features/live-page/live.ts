/** The document of the live page: what `GET /metrics` tells, beside what is promised. */

export const LIVE_FORMAT = "stratagem-live/1";

/** Where it is, relative to the page, which may lie behind a proxy's prefix. */
export const LIVE_PATH = "v2/stratagem/live";

/** Counters count from the start of the server; null stands for what is not known. */
export interface LiveDocument {
  readonly format: typeof LIVE_FORMAT;
  /** Milliseconds since 1970, as the document was made. */
  readonly atMs: number;
  readonly version: string;
  readonly state: ServerState;
  readonly applications: readonly LiveApplication[];
  /** Applications there are beside these. */
  readonly applicationsLeftOut: number;
}

/** Starting is also a server that has lost its workers. */
export type ServerState = "starting" | "ready" | "draining";

export interface LiveApplication {
  readonly name: string;
  readonly method: string;
  readonly bundleSha256: string;
  readonly isReady: boolean;
  readonly slo: {
    readonly latencyMs: number;
    /** Ratio of rows that may be late or dropped, as stated or as a percentile leaves it. */
    readonly maxViolationRate: number;
  };
  /** Rows a second, as measured. */
  readonly loadQps: number | null;
  /** Index of the level whose promise holds now. */
  readonly level: number | null;
  /** Whether the level was told; else it is the one for the measured load. */
  readonly isLevelFollowed: boolean;
  readonly levelCount: number;
  readonly levels: readonly LiveLevel[];
  /** Rows, of pipelines queries of all tasks, that wait or run. */
  readonly pending: number | null;
  readonly workers: LiveWorkers;
  /** Null where the method does not measure it. */
  readonly pace: LivePace | null;
  readonly rows: LiveRows;
  /** Sum of the stated accuracies of rows that were answered in time. */
  readonly satisfiedAccuracy: number | null;
  readonly requests: {
    readonly answered: number;
    readonly failed: number;
    /** Time of those that were answered, together. */
    readonly answeredMs: number;
  };
  /** Of answered requests, ms. */
  readonly latency: LiveHistogram | null;
  /** Time to the earliest deadline of a batch, or a query, when it starts, ms. */
  readonly slack: LiveHistogram | null;
  readonly variants: readonly LiveVariant[];
  readonly variantsLeftOut: number;
  readonly classes: readonly LiveClass[];
  readonly places: LivePlaces | null;
  /** Empty where nobody measures them. */
  readonly promises: readonly LivePromise[];
}

/** Something that the bundle promises, as sequential tests of what is measured see it. */
export interface LivePromise {
  readonly holds: boolean;
  /** Such as "✓ arrivals: as promised"; else since when they are not, and why. */
  readonly text: string;
}

/** A level and what the bundle promises of it. */
export interface LiveLevel {
  readonly index: number;
  readonly loadQps: number;
  /** That it was solved for. */
  readonly pace: number;
  readonly feasible: boolean;
  /** Per row answered in time. */
  readonly accuracy: number | null;
  readonly violationRate: number | null;
  readonly p99Ms: number | null;
}

interface LiveWorkers {
  readonly count: number | null;
  readonly ready: number | null;
  /** Since the start; those that hung are among those lost. */
  readonly lost: number;
  readonly hung: number;
}

/** Service times over those of the profile, 1 as profiled, 2 half as fast. */
export interface LivePace {
  /** Pace of all workers that are up. */
  readonly pool: number;
  /** Load on the cluster as profiled for each query, with workers that are down counted. */
  readonly stretch: number;
  /** Workers that are up; the first ones of many. */
  readonly workers: readonly {
    readonly pool: string;
    readonly worker: number;
    readonly pace: number;
  }[];
  /** Variants and batch sizes, from that size to twice as many, whose times the pace leaves out. */
  readonly corrections: readonly {
    readonly variant: string;
    readonly batch: number;
    readonly correction: number;
  }[];
}

/** Rows of requests by what became of them. */
export interface LiveRows {
  readonly satisfied: number;
  readonly late: number;
  readonly dropped: number;
}

export interface LiveHistogram {
  /** Ascending; what is above the last has one more count. */
  readonly bounds: readonly number[];
  /** Of each bucket alone. */
  readonly counts: readonly number[];
}

export interface LiveVariant {
  readonly task: string;
  readonly name: string;
  readonly accuracy: number | null;
  /** Rows that it ran. */
  readonly rows: number;
  /** Batches of it that were started, or null where rows run one by one. */
  readonly batches: number | null;
  /** Of plans: workers that are to hold it, and those that do. */
  readonly assigned: number | null;
  readonly ready: number | null;
  /** Cores that each of them is to have, where that changes. */
  readonly cores: number | null;
  /** Of malleable pipelines: places that its queries started with, together, and these queries. */
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
