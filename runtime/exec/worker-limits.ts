/** How long workers are waited for, and how soon one that ended is followed by the next. */

export interface WorkerLimits {
  /** Memory that a worker may have of its own; null for what `workerMemoryBytes` says. */
  readonly memoryBytes: number | null;
  /**
   * Time a worker may take to load a model, or for its first runs of a size: else it is killed.
   * Large files get a second more for each 10 MB.
   */
  readonly modelTimeoutMs: number;
  /**
   * Time from the start of the process until it is ready, all models loaded and warmed; without an
   * end it is killed.
   */
  readonly startTimeoutMs: number;
  /** Time a batch may take; then its worker is killed. */
  readonly batchTimeoutMs: number;
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
  batchTimeoutMs: 30_000,
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
