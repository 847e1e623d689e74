/**
 * Timeouts of workers, and delays before one that ended is restarted. Reasons:
 * docs/decisions/0013-hung-workers.md.
 */

/** Longest delay of a Node timer; a longer one fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface WorkerLimits {
  /** Memory that a worker may use itself; null for the default of `workerMemoryBytes`. */
  readonly memoryBytes: number | null;
  /**
   * Limit for loading a model, or for its first runs of a size; then the worker is killed. Large
   * files get another second per 10 MB; on a GPU it is `busyFactor` times as long.
   */
  readonly modelTimeoutMs: number;
  /**
   * Limit from the start of the process until it is ready, with all models loaded and warmed up;
   * then it is killed.
   */
  readonly startTimeoutMs: number;
  /**
   * Once a start or load has been measured, the limit is this multiple of the longest, and at least
   * the floor.
   */
  readonly startFactor: number;
  readonly startFloorMs: number;
  /**
   * Limit of a batch as a multiple of its profiled p99, and at least the floor; then its worker
   * counts as hung and is killed.
   */
  readonly hungFactor: number;
  readonly hungFloorMs: number;
  /**
   * Factor on the limits of a worker whose threads are running or runnable: it is slow or short of
   * cores rather than stuck. A worker that is stopped or asleep does not get it.
   */
  readonly busyFactor: number;
  /**
   * Floor for the first batch of a kind on an accelerator, when kernels are chosen and compiled.
   */
  readonly firstKernelsMs: number;
  /**
   * Limit of a batch whose p99 is not known, and the largest limit of any other on a slow machine.
   */
  readonly batchTimeoutMs: number;
  /** Time between two health checks of an idle worker. */
  readonly pingMs: number;
  /** A ready worker counts as healthy once it has answered a batch, or lived this long. */
  readonly healthyAfterMs: number;
  /** Delay after a worker that ended before it was healthy; doubles with each consecutive one. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  memoryBytes: null,
  // The models of this repository take milliseconds.
  modelTimeoutMs: 60_000,
  // Far above any measured start: dozens of variants at dozens of batch sizes are warmed up on
  // cores that all workers share.
  startTimeoutMs: 600_000,
  startFactor: 8,
  startFloorMs: 10_000,
  hungFactor: 4,
  hungFloorMs: 250,
  busyFactor: 4,
  firstKernelsMs: 5000,
  batchTimeoutMs: 30_000,
  pingMs: 1000,
  healthyAfterMs: 10_000,
  backoffMs: 250,
  maxBackoffMs: 30_000,
};

/** Throughput of a slow, shared disk. */
const FILE_BYTES_PER_MS = 10_000;

/**
 * Returns the delay before the next start, ms.
 * @param failures consecutive workers, at least one, that ended before they were healthy.
 */
export function retryDelayMs(failures: number, limits: WorkerLimits): number {
  return Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** (failures - 1));
}

/** @param bytes size of the file, 0 if not known. */
export function modelTimeoutMs(bytes: number, limits: WorkerLimits): number {
  return limits.modelTimeoutMs + bytes / FILE_BYTES_PER_MS;
}
