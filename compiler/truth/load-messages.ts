/** Messages between truth and the process that sends its load. */
import type { PlannedRequests } from "../load/planned-workload.ts";
import type { LoadResult } from "../load/run-load.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";

/** Contents of requests. */
export type LoadContent =
  | {
      readonly kind: "rows";
      /** Files of raw rows and of their classes; null for rows of zeros, and without classes. */
      readonly inputs: string | null;
      readonly labels: string | null;
    }
  /** Folder whose files are complete request bodies. */
  | { readonly kind: "bodies"; readonly folder: string }
  /** Requests with any rows to any model, in the order of the arrivals. */
  | { readonly kind: "planned"; readonly requests: PlannedRequests };

/** Load to send. */
export interface LoadOrder {
  readonly url: string;
  readonly content: LoadContent;
  /** True if requests name classes, drawn by their shares. */
  readonly hasClasses: boolean;
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
  readonly sloMs: number;
  readonly warmUpQueries: number;
  readonly warmUpLimitMs: number;
  readonly leadInMs: number;
  readonly timeoutMs: number;
}

/** Requests in order of completion. Times are ms since the load began. */
export interface SentRequests {
  readonly scheduledMs: Float64Array;
  readonly sentMs: Float64Array;
  readonly endMs: Float64Array;
  /** NaN if there was no successful answer, or it stated none. */
  readonly accuracy: Float64Array;
  readonly score: Float64Array;
  readonly isAnswered: Uint8Array;
  /** SLO of its class. */
  readonly sloMs: Float64Array;
}

export type LoadMessage =
  | { readonly kind: "progress"; readonly doneSeconds: number }
  | {
      readonly kind: "done";
      readonly result: LoadResult;
      readonly sent: SentRequests;
      /** Start of the load, ms since 1970. */
      readonly startEpochMs: number;
    }
  /** @param code of a RuntimeError or InputError; null for other errors. */
  | { readonly kind: "failed"; readonly code: string | null; readonly message: string };
