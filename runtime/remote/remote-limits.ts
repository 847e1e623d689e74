/** How long workers of other machines are waited for: every figure of it. */
import { WORKER_LIMITS, type WorkerLimits } from "../exec/worker-limits.ts";

export interface RemoteLimits extends WorkerLimits {
  /** Time between two questions whether a worker is ready. */
  readonly heartbeatMs: number;
  /** Time that an answer to that may take. */
  readonly heartbeatAnswerMs: number;
  /** So many in a row without a yes, and it counts as lost. */
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
