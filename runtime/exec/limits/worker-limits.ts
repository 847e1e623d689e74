/**
 * How long workers are waited for, and how soon one that ended is followed by the next: every
 * figure of it. Reasons: docs/decisions/0013-hung-workers.md.
 */

/** A timer of Node can wait no longer: a longer wait ends at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface WorkerLimits {
  /** Memory that a worker may have of its own; null for what `workerMemoryBytes` says. */
  readonly memoryBytes: number | null;
  /**
   * Time a worker may take to load a model, or for its first runs of a size: else it is killed.
   * Large files get a second more for each 10 MB; on a GPU it is `busyFactor` times as long.
   */
  readonly modelTimeoutMs: number;
  /**
   * Time from the start of the process until it is ready, all models loaded and warmed; without an
   * end it is killed.
   */
  readonly startTimeoutMs: number;
  /**
   * Once starts, or loads, have been seen, they may take so many times the longest of them, and at
   * least the floor.
   */
  readonly startFactor: number;
  readonly startFloorMs: number;
  /**
   * A batch may take so many times its profiled p99, and at least the floor; then its worker counts
   * as hung and is killed.
   */
  readonly hungFactor: number;
  readonly hungFloorMs: number;
  /**
   * So many times as long has a worker whose threads run or want to, which is slow or short of
   * cores, if it is not in an endless loop. One that is stopped or asleep has not.
   */
  readonly busyFactor: number;
  /**
   * The floor of the first batch of a kind on an accelerator, where kernels are chosen and compiled
   * then.
   */
  readonly firstKernelsMs: number;
  /**
   * Time a batch may take whose p99 is not known, and the most that a slow machine is allowed for
   * any other.
   */
  readonly batchTimeoutMs: number;
  /** Time between two looks at a worker that has nothing to do. */
  readonly pingMs: number;
  /** A worker that is ready counts as healthy once it has answered a batch, or lived this long. */
  readonly healthyAfterMs: number;
  /**
   * Wait after a worker that ended without being healthy; doubles with each further one in a row.
   */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  memoryBytes: null,
  // The models of this repository take milliseconds.
  modelTimeoutMs: 60_000,
  // Far above any start that was seen: dozens of variants at dozens of batch sizes are warmed on
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

/** A slow disk that others share. */
const FILE_BYTES_PER_MS = 10_000;

/**
 * Wait before the next start.
 * @param failures workers in a row, at least one, that ended without being healthy.
 */
export function retryDelayMs(failures: number, limits: WorkerLimits): number {
  return Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** (failures - 1));
}

/** @param bytes of the file, 0 where that is not known. */
export function modelTimeoutMs(bytes: number, limits: WorkerLimits): number {
  return limits.modelTimeoutMs + bytes / FILE_BYTES_PER_MS;
}
