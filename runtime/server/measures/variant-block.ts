/** Some seconds of the batches of one variant, against what its profile says of them. */
import type { ProfiledTime } from "../metrics/profiled-times.ts";
import { TimeSketch } from "./time-sketch.ts";

/** A block lasts so long at least, so that it spans bursts of the machine's neighbours. */
export const BLOCK_MS = 5000;
/** And has so many batches, or its median would say little. */
export const BLOCK_BATCHES = 16;

/** What batches may take above their profile and be as promised. */
export const TIME_TOLERANCE = 0.2;
/** Share of a block's batches that may take that much longer than decisions are made with. */
export const LATE_SHARE = 0.25;

export interface ServiceBlock {
  readonly batches: number;
  /** Median of what batches took over the medians of their profile. */
  readonly ratio: number;
  /** Whether it is above what is promised, by the median or by the slowest quarter. */
  readonly isSlow: boolean;
  readonly startMs: number;
  readonly endMs: number;
  /** How many there were of each size. */
  readonly sizes: readonly BlockSize[];
}

export interface BlockBatch {
  readonly rows: number;
  /** In the worker. */
  readonly insideMs: number;
  /** Besides, until the server had the result. */
  readonly wayMs: number;
}

export interface BlockSize {
  readonly rows: number;
  batches: number;
}

/** Share of the ways to the worker and back that are quicker than what counts as the way. */
const QUICK_SHARE = 0.1;

/**
 * Profiles count the way to the worker and back, which a busy server makes long: so what a batch
 * takes is its time in the worker and the quickest way that was seen.
 */
export class VariantBlock {
  readonly #ratios = new TimeSketch();
  readonly #ways = new TimeSketch();
  #wayMs = Number.POSITIVE_INFINITY;
  #sizes = new Map<number, BlockSize>();
  #late = 0;
  #startMs = Number.NaN;

  add(batch: BlockBatch, { p50Ms, decisionMs }: ProfiledTime, nowMs: number): void {
    const { insideMs, wayMs, rows } = batch;
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    this.#ways.add(wayMs);
    const ms = insideMs + (this.#wayMs === Number.POSITIVE_INFINITY ? 0 : this.#wayMs);
    const ratio = ms / p50Ms;
    this.#ratios.add(ratio);
    if (ms > decisionMs * (1 + TIME_TOLERANCE)) this.#late++;
    const size = this.#sizes.get(rows);
    if (size === undefined) this.#sizes.set(rows, { rows, batches: 1 });
    else size.batches++;
  }

  /** @returns undefined while it is too short or has too few batches. */
  take(nowMs: number): ServiceBlock | undefined {
    const batches = this.#ratios.count;
    if (batches < BLOCK_BATCHES || !(nowMs - this.#startMs >= BLOCK_MS)) return undefined;
    const ratio = this.#ratios.quantile(0.5);
    const block = {
      batches,
      ratio,
      isSlow: ratio > 1 + TIME_TOLERANCE || this.#late > LATE_SHARE * batches,
      startMs: this.#startMs,
      endMs: nowMs,
      sizes: [...this.#sizes.values()],
    };
    this.#wayMs = Math.min(this.#wayMs, this.#ways.quantile(QUICK_SHARE));
    this.#ways.clear();
    this.#ratios.clear();
    this.#sizes = new Map();
    this.#late = 0;
    this.#startMs = Number.NaN;
    return block;
  }
}
