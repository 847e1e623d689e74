/** Model interface of the request handlers, for all methods. */

import type { MetricLine } from "../../base/exposition.ts";
import type { Bundle } from "../../bundle/schema.ts";
import type { LoadShare, SeenLoad } from "../../core/load-share.ts";
import type { Watched } from "../measures/watched.ts";
import type { ServedPace } from "../metrics/served-pace.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import type { RequestRows, Submission } from "./request.ts";
import type { RequestClasses } from "./request-classes.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { SequenceTurns } from "./sequence-turns.ts";

/** A model as clients see it: rows in, tensors out. */
export interface EndpointModel {
  /** No other model of the endpoint has these names. */
  readonly signature: ClientSignature;
  readonly metrics: RequestMetrics;
  /** Least time in which a request can be answered. */
  readonly fastestMs: number;
  /** Minimum time in which a variant can answer, for models whose requests may name one. */
  variantMs?(variant: number): number;
  /**
   * A request is one query, whatever rows it has, so that admission counts requests. Default: rows
   * are queries.
   */
  readonly isWhole?: true;
  /**
   * Whether the dispatcher drops hopeless low-priority requests in time, so that only high-priority
   * requests can build up a queue. Default: all requests can.
   */
  readonly givesUpLow?: true;
  /** Maximum number of rows of one request. Default: only the server's limit. */
  readonly maxRows?: number;
  /** Left out of models without state. */
  readonly sequences?: SequenceTurns;
  /** Left out where all requests have the same SLO. */
  readonly classes?: RequestClasses;
  /**
   * Whether a request that arrives now would be rejected, whatever it contains. Default: unknown
   * until its deadline.
   */
  isFull?(): boolean;
  /**
   * A request was refused at the listener: its rows count as load, and as dropped.
   * @param rows 1 of a request that was not read.
   * @param sloClass index of its class; 0 of a request that was not read.
   */
  onRejected(rows: number, sloClass: number): void;
  /**
   * @param isHigh whether the request has high priority; for models with priorities.
   * @param sloClass index of its class; for models with classes.
   */
  submit(rows: RequestRows, deadlineMs: number, isHigh: boolean, sloClass: number): Submission;
}

/** Answers inference requests by the current bundle. */
export interface Endpoint {
  /** At least one. */
  readonly models: readonly EndpointModel[];
  /** The one that decides now. */
  readonly bundle: Bundle;
  /** SHA-256 of the bundle's file. */
  readonly bundleSha256: string;
  readonly isReady: boolean;
  /** Kept once it is ready for the first time. */
  readonly started: Promise<void>;
  /** Measurements to compare with the promises. */
  readonly watched: Watched;
  /** Left out where the method does not measure it. */
  readonly pace?: ServedPace | undefined;
  /** Metrics without the application's name. */
  metricLines(): MetricLine[];
  /**
   * Replaces the bundle.
   * @param bundle a validated one.
   * @returns why it cannot be replaced, or null; on failure nothing has changed.
   */
  replaceBundle(bundle: Bundle, bundleSha256: string): string | null;
  /**
   * Sets the share of workers of this front end among several; it is ready once the share is, and
   * follows the total load. Default: the method follows its own load only.
   */
  share?(share: LoadShare): void;
  /** Load seen by this server, for the other front ends. Default: none, where `share` is absent. */
  seenLoad?(): SeenLoad;
  /** Stops new work; accepted work continues. */
  drain(): void;
  /** Fails every request that is still open. */
  abort(): void;
}
