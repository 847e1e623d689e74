/** What truth and the process that sends its load tell each other. */
import type { PlannedRequests } from "../load/planned-workload.ts";
import type { LoadResult } from "../load/run-load.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";

/** What requests carry. */
export type LoadContent =
  | {
      readonly kind: "rows";
      /** File of raw rows, and of the class of each; null for rows of zeros, and for no classes. */
      readonly inputs: string | null;
      readonly labels: string | null;
    }
  /** A folder whose files are bodies of requests, as they are. */
  | { readonly kind: "bodies"; readonly folder: string }
  /** Requests of any rows to any model, in the order of the arrivals. */
  | { readonly kind: "planned"; readonly requests: PlannedRequests };

/** A load to send. */
export interface LoadOrder {
  readonly url: string;
  readonly content: LoadContent;
  /** Whether requests name classes, drawn by their shares. */
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

/** By request, in the order in which they ended. Times are ms since the load began. */
export interface SentRequests {
  readonly scheduledMs: Float64Array;
  readonly sentMs: Float64Array;
  readonly endMs: Float64Array;
  /** NaN where there is none: no good answer, or one that states none. */
  readonly accuracy: Float64Array;
  readonly score: Float64Array;
  readonly isAnswered: Uint8Array;
  /** Of its class. */
  readonly sloMs: Float64Array;
}

export type LoadMessage =
  | { readonly kind: "progress"; readonly doneSeconds: number }
  | {
      readonly kind: "done";
      readonly result: LoadResult;
      readonly sent: SentRequests;
      /** When the load began, ms since 1970. */
      readonly startEpochMs: number;
    }
  /** @param code of a RuntimeError or InputError; null for another one. */
  | { readonly kind: "failed"; readonly code: string | null; readonly message: string };
