/** What executors of workers on other machines are started with, and how long they wait. */

import type { Notice } from "../base/notice.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../exec/limits/worker-limits.ts";
import type { ExecutorOptions } from "../exec/models/executor.ts";
import type { Hops } from "./hops.ts";
import type { RemoteWorkers } from "./remote-workers.ts";
import type { ReadToken } from "./worker-token.ts";

export interface RemoteOptions
  extends Pick<ExecutorOptions, "variants" | "workerCount" | "threadsPerWorker"> {
  /** The pool of each worker slot, by index. */
  readonly pools: readonly number[];
  /** By the index of the pool. */
  readonly poolNames: readonly string[];
  readonly workers: RemoteWorkers;
  /** Name of this front end among those that use the same workers. */
  readonly frontEnd: string;
  readonly hops: Hops;
  /** What workers are shown that let nobody else in. */
  readonly readToken: ReadToken;
  /** What an operator should see, such as a worker that cannot be used. */
  readonly onNotice: Notice;
  readonly limits?: Partial<RemoteLimits>;
}

export interface RemoteLimits extends WorkerLimits {
  /** Time between two questions whether a worker is ready. */
  readonly heartbeatMs: number;
  /** Time that an answer to that may take. */
  readonly heartbeatAnswerMs: number;
  /** A worker counts as lost after this many failures in a row. */
  readonly missedHeartbeats: number;
  /** Wait before a batch is shown again to a worker that is busy with another. */
  readonly busyRetryMs: number;
  /** Time between two questions what runs took, to servers that do not say it of each. */
  readonly statisticsMs: number;
}

export const REMOTE_LIMITS: RemoteLimits = {
  ...WORKER_LIMITS,
  // Whether its threads want to run cannot be seen from here: it has the time of one that computes.
  hungFloorMs: WORKER_LIMITS.busyFactor * WORKER_LIMITS.hungFloorMs,
  heartbeatMs: 1000,
  heartbeatAnswerMs: 1000,
  missedHeartbeats: 3,
  busyRetryMs: 5,
  statisticsMs: 5000,
};
