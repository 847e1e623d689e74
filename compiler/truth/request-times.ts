/** Times of the requests of a run, and their summary. */
import { percentileIntervals } from "../numeric/quantile-interval.ts";
import type { Outcome } from "./truth-document.ts";

/** Arrays by request. */
export interface RequestTimes {
  /** Since the run began, ascending. */
  readonly arrivalMs: Float64Array;
  /** NaN for an unanswered request. */
  readonly latencyMs: Float64Array;
}

/** Collects requests in any order. */
export class GatheredTimes {
  readonly #fromMs: number;
  readonly #requests: { readonly arrivalMs: number; readonly latencyMs: number }[] = [];

  /** @param fromMs start of the run; earlier requests are left out. */
  constructor(fromMs = 0) {
    this.#fromMs = fromMs;
  }

  readonly add = (arrivalMs: number, latencyMs: number): void => {
    if (arrivalMs < this.#fromMs) return;
    this.#requests.push({ arrivalMs: arrivalMs - this.#fromMs, latencyMs });
  };

  /** In the order of the arrivals. */
  times(): RequestTimes {
    const inOrder = this.#requests.toSorted((one, other) => one.arrivalMs - other.arrivalMs);
    return {
      arrivalMs: Float64Array.from(inOrder, ({ arrivalMs }) => arrivalMs),
      latencyMs: Float64Array.from(inOrder, ({ latencyMs }) => latencyMs),
    };
  }
}

/**
 * Summarizes requests.
 * @param latencyMs in the order of their arrivals, NaN for unanswered ones.
 * @param accuracy from the source of the requests. @param batches that answered them.
 * @param alike latencies whose neighbours are as alike; default: those of the requests.
 */
export function outcomeOf(
  latencyMs: Float64Array,
  sloMs: number,
  accuracy: number | null,
  batches: number,
  alike = latencyMs,
): Outcome {
  const served = answered(latencyMs);
  const perBatch = Math.max(1, served.length / Math.max(1, batches));
  const [inOrder, likeness] = [answeredInOrder(latencyMs), answeredInOrder(alike)];
  const intervalsMs = percentileIntervals(inOrder, perBatch, likeness);
  const inTime = served.reduce((count, ms) => count + (ms <= sloMs ? 1 : 0), 0);
  const [p50Ms, p95Ms, p99Ms] = [50, 95, 99].map((percent) => quantileOf(served, percent));
  return {
    p50Ms: p50Ms ?? null,
    p95Ms: p95Ms ?? null,
    p99Ms: p99Ms ?? null,
    violationRate: latencyMs.length === 0 ? 0 : (latencyMs.length - inTime) / latencyMs.length,
    accuracy,
    quantilesMs: quantilesOf(served),
    batches,
    ...(intervalsMs !== null && { intervalsMs }),
  };
}

/** Latencies of answered requests, ascending. */
export function answered(latencyMs: Float64Array): Float64Array {
  return answeredInOrder(latencyMs).sort();
}

function answeredInOrder(latencyMs: Float64Array): Float64Array {
  return latencyMs.filter((ms) => !Number.isNaN(ms));
}

/** Returns the nearest rank of ascending values; null if empty. @param percent 0..100. */
export function quantileOf(ascending: Float64Array, percent: number): number | null {
  const rank = Math.max(1, Math.ceil((percent * ascending.length) / 100));
  return ascending[rank - 1] ?? null;
}

function quantilesOf(ascending: Float64Array): number[] {
  if (ascending.length === 0) return [];
  return Array.from({ length: 101 }, (_, percent) => quantileOf(ascending, percent) ?? 0);
}
