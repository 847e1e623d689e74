/** Time limits of batches, from their profile and from how slow the machine is. */
import type { WorkerLimits } from "./worker-limits.ts";

/** A batch, as far as its time limit depends on it. */
export interface TimedBatch {
  readonly variant: number;
  /** Profiled p99 for its variant, size and cores, ms; undefined if not known. */
  readonly p99Ms: number | undefined;
  /** Whether kernels may be compiled for it. */
  readonly isFirstOfKind: boolean;
}

/** Half-life of a measured slowness. */
const SLOWNESS_HALF_LIFE_MS = 5000;
/** Limit as a multiple of the slowest recent batch. */
const SPARE = 2;

/**
 * Time limits of the batches of one executor. A limit is the larger of a floor and a few times the
 * profiled p99. It widens on a slow machine, so that healthy workers are not killed one after the
 * other:
 *
 * - it is at least twice what the slowest recent batch took, so it widens before a batch reaches
 * it;
 * - it doubles for a variant with each worker that hung in it, until a batch of it is answered. If
 * several workers are late at the same time, only one is killed and the others get twice the time.
 */
export class BatchPace {
  readonly #limits: WorkerLimits;
  /** Largest recent batch time, as a fraction of its limit on a machine as profiled. */
  #slowness = 0;
  #slownessAtMs = 0;
  /** Consecutive hung workers by variant. */
  readonly #hungByVariant = new Map<number, number>();

  constructor(limits: WorkerLimits) {
    this.#limits = limits;
  }

  /** Returns the current limit of a batch, ms. */
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
    // Most batches are far below the limit and leave the slowness as it is.
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
