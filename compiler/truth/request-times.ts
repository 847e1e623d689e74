/** Requests of a run by their moments, and what they come to. */
import type { Outcome } from "./truth-document.ts";

/** By request. */
export interface RequestTimes {
  /** Since the run began, ascending. */
  readonly arrivalMs: Float64Array;
  /** NaN for a request that was never answered. */
  readonly latencyMs: Float64Array;
}

/** Gathers requests as they are told, in any order. */
export class GatheredTimes {
  readonly #requests: { readonly arrivalMs: number; readonly latencyMs: number }[] = [];

  readonly tell = (arrivalMs: number, latencyMs: number): void => {
    this.#requests.push({ arrivalMs, latencyMs });
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

/** What requests come to. @param accuracy that whoever counted them gives. */
export function outcomeOf(
  { latencyMs }: RequestTimes,
  sloMs: number,
  accuracy: number | null,
): Outcome {
  const served = answered(latencyMs);
  const inTime = served.reduce((count, ms) => count + (ms <= sloMs ? 1 : 0), 0);
  const [p50Ms, p95Ms, p99Ms] = [50, 95, 99].map((percent) => quantileOf(served, percent));
  return {
    p50Ms: p50Ms ?? null,
    p95Ms: p95Ms ?? null,
    p99Ms: p99Ms ?? null,
    violationRate: latencyMs.length === 0 ? 0 : (latencyMs.length - inTime) / latencyMs.length,
    accuracy,
    quantilesMs: quantilesOf(served),
  };
}

/** Latencies of those that were answered, ascending. */
export function answered(latencyMs: Float64Array): Float64Array {
  return latencyMs.filter((ms) => !Number.isNaN(ms)).sort();
}

/** Nearest rank of ascending values; null of none. @param percent 0..100. */
export function quantileOf(ascending: Float64Array, percent: number): number | null {
  const rank = Math.max(1, Math.ceil((percent * ascending.length) / 100));
  return ascending[rank - 1] ?? null;
}

function quantilesOf(ascending: Float64Array): number[] {
  if (ascending.length === 0) return [];
  return Array.from({ length: 101 }, (_, percent) => quantileOf(ascending, percent) ?? 0);
}
