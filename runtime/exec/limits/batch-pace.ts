/** How long batches may take: by their profile, and by how the machine does. */
import type { WorkerLimits } from "./worker-limits.ts";

/** What is told of a batch to know how long it may take. */
export interface TimedBatch {
  readonly variant: number;
  /** Profiled for its variant, size and cores, ms; undefined where it is not known. */
  readonly p99Ms: number | undefined;
  /** Whether kernels may be compiled for it. */
  readonly isFirstOfKind: boolean;
}

/** What was slow counts half as much after so long. */
const SLOWNESS_HALF_LIFE_MS = 5000;
/** Batches may take so many times the slowest of late. */
const SPARE = 2;

/**
 * The limits of the batches of one executor. A limit is the larger of a floor and a few times the
 * profiled p99, and wider on a machine that proves to be slow, so that healthy workers are not shot
 * in a row:
 *
 * - it is at least twice what the slowest batch of late took of its own limit, so it widens before
 *   anybody reaches it;
 * - it doubles for a variant with every worker that hung in it, until a batch of it is answered. So
 *   of workers that are late at the same time one is shot, and the others have as long again.
 */
export class BatchPace {
  readonly #limits: WorkerLimits;
  /** Of late the most that a batch took, as a part of its limit on a machine as profiled. */
  #slowness = 0;
  #slownessAtMs = 0;
  /** By variant the workers in a row that hung in it. */
  readonly #hungByVariant = new Map<number, number>();

  constructor(limits: WorkerLimits) {
    this.#limits = limits;
  }

  /** Time that a batch may take as of now, ms. */
  limitMs(batch: TimedBatch, nowMs: number): number {
    const profiledMs = this.#profiledLimitMs(batch);
    const isSlow = Math.max(1, SPARE * this.#slownessAt(nowMs));
    const inARow = 2 ** (this.#hungByVariant.get(batch.variant) ?? 0);
    return Math.max(
      profiledMs,
      Math.min(profiledMs * isSlow * inARow, this.#limits.batchTimeoutMs),
    );
  }

  onAnswered(batch: TimedBatch, tookMs: number, nowMs: number): void {
    if (this.#hungByVariant.size > 0) this.#hungByVariant.delete(batch.variant);
    const part = tookMs / this.#profiledLimitMs(batch);
    // Nearly always much less, and then nothing is to be noted.
    if (part < 1 / SPARE || part < this.#slownessAt(nowMs)) return;
    this.#slowness = part;
    this.#slownessAtMs = nowMs;
  }

  onHung({ variant }: TimedBatch): void {
    this.#hungByVariant.set(variant, 1 + (this.#hungByVariant.get(variant) ?? 0));
  }

  #slownessAt(nowMs: number): number {
    if (this.#slowness === 0) return 0;
    return this.#slowness * 2 ** ((this.#slownessAtMs - nowMs) / SLOWNESS_HALF_LIFE_MS);
  }

  #profiledLimitMs({ p99Ms, isFirstOfKind }: TimedBatch): number {
    const { hungFactor, hungFloorMs, firstKernelsMs, batchTimeoutMs } = this.#limits;
    if (p99Ms === undefined) return batchTimeoutMs;
    return Math.max(hungFactor * p99Ms, isFirstOfKind ? firstKernelsMs : hungFloorMs);
  }
}
