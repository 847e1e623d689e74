/** Measurements of an endpoint, for all methods. */
import type { ArrivalModel } from "../../bundle/schema.ts";
import type { ArrivalCounts } from "./arrival-counts.ts";
import type { ServiceTimes } from "./service-times.ts";

export interface Watched {
  readonly times: ServiceTimes;
  readonly arrivals: ArrivalCounts;
  reading(): Reading;
}

export interface Reading {
  /** Changes with the bundle that decides. */
  readonly bundleSha256: string;
  readonly compiled: ArrivalModel;
  /** Measured rows per second; NaN until it is known. */
  readonly loadQps: number;
  readonly topLevelQps: number;
  /** Service times that the policy reckons with, over those of the profile. */
  readonly pace: number;
  /** Promises of the current level; undefined before there is one. */
  readonly promised: PromisedNow | undefined;
  /** Number since the start. */
  readonly rows: { readonly satisfied: number; readonly late: number; readonly dropped: number };
  /** Sum of the stated accuracies of the variants that answered rows in time. */
  readonly accuracySum: number;
  /** Cost, where the method promises one. */
  readonly cost?: CostNow | undefined;
}

export interface PromisedNow {
  /** Undefined where the method promises none. */
  readonly violationRate: number | undefined;
  readonly accuracyPerSatisfied?: number | undefined;
  /** Undefined in bundles that promise no latency. */
  readonly latencyMs?: PromisedLatency | undefined;
  /** Time until the first batch begins; undefined likewise. */
  readonly queueMs?: PromisedLatency | undefined;
  readonly feasible: boolean;
}

/** Percentiles of times of answered requests, ms. */
export interface PromisedLatency {
  readonly p50: number;
  readonly p95?: number;
  readonly p99: number;
}

export interface CostNow {
  readonly held: number;
  readonly promised: number;
  /** Cost of the whole cluster. */
  readonly most: number;
  /** Unit in messages, such as "cores" or "an hour". */
  readonly unit: string;
}
