/** Options and limits of executors over remote workers. */

import type { Notice } from "../base/notice.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../exec/limits/worker-limits.ts";
import type { ExecutorOptions } from "../exec/models/executor.ts";
import type { Hops } from "./hops.ts";
import type { RemoteWorkers } from "./remote-workers.ts";
import type { ReadToken } from "./worker-token.ts";

export interface RemoteOptions
  extends Pick<ExecutorOptions, "variants" | "workerCount" | "threadsPerWorker"> {
  /** Pool index of each worker slot. */
  readonly pools: readonly number[];
  /** Names by pool index. */
  readonly poolNames: readonly string[];
  readonly workers: RemoteWorkers;
  /** Name of this front end among those that use the same workers. */
  readonly frontEnd: string;
  readonly hops: Hops;
  /** Reads the token for workers that require one. */
  readonly readToken: ReadToken;
  /** Called with notices for operators, such as a worker that cannot be used. */
  readonly onNotice: Notice;
  readonly limits?: Partial<RemoteLimits>;
}

export interface RemoteLimits extends WorkerLimits {
  /** Interval of readiness checks. */
  readonly heartbeatMs: number;
  /** Time limit of a readiness check. */
  readonly heartbeatAnswerMs: number;
  /** Consecutive failures after which a worker is lost. */
  readonly missedHeartbeats: number;
  /** Wait before a batch is sent again to a busy worker. */
  readonly busyRetryMs: number;
  /** Interval of statistics requests to servers that do not state the time of each run. */
  readonly statisticsMs: number;
}

export const REMOTE_LIMITS: RemoteLimits = {
  ...WORKER_LIMITS,
  // Whether a remote worker computes is not visible, so it gets the limit of one that does.
  hungFloorMs: WORKER_LIMITS.busyFactor * WORKER_LIMITS.hungFloorMs,
  heartbeatMs: 1000,
  heartbeatAnswerMs: 1000,
  missedHeartbeats: 3,
  busyRetryMs: 5,
  statisticsMs: 5000,
};
