/** Summarizes latencies in bounded memory. */
import type {
  ExpectedLatency,
  ExpectedTimes,
  PipelineExpected,
} from "stratagem-runtime/internal/bundle/schema";
import {
  ENOUGH_BATCHES,
  type PercentileInterval,
  type PercentileIntervals,
  percentileIntervals,
} from "../numeric/quantile-interval.ts";
import { selectRank } from "../numeric/selection.ts";

/** Latencies kept for the percentiles: 128 MiB. */
const MAX_KEPT = 2 ** 24;
const FIRST_CAPACITY = 2 ** 12;

export interface LatencySummary {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Batches that it is from; left out if unknown. */
  readonly batches?: number;
  /** 99 % intervals; left out with many batches. */
  readonly intervals?: PercentileIntervals;
}

/** Queries of a task that were served, and batches in which they were. */
interface ServedBatches {
  readonly queries: number;
  readonly batches: number;
}

/** Mean requests that share a batch, in the task where most do; at least 1. */
export function requestsPerBatch(requests: number, tasks: readonly ServedBatches[]): number {
  const shared = tasks.map(({ queries, batches }) => Math.min(queries, requests) / batches);
  return Math.max(1, ...shared.filter(Number.isFinite));
}

/** Formats `31.2`, or `31.2 (24.1..55.3)` with an interval, which may be open above. */
export function percentileText(
  ms: number,
  interval: PercentileInterval | undefined,
  text: (ms: number) => string = (tenths) => tenths.toFixed(1),
): string {
  if (interval === undefined) return text(ms);
  const [lower, upper] = interval;
  return `${text(ms)} (${brief(lower)}..${upper === null ? "" : brief(upper)})`;
}

/** Formats a percentile, with its interval if it has one; a dash without queries. */
export function percentileOrDash(
  summary: LatencySummary | null,
  name: keyof PercentileIntervals,
): string {
  return summary === null ? "-" : percentileText(summary[name], summary.intervals?.[name]);
}

/** Formats `mean 9.8, p50 7.8 (7.1..8.9), …, max 51.3`, ms. */
export function latencyLine(summary: LatencySummary): string {
  const { mean, max } = summary;
  const percentiles = (["p50", "p95", "p99"] as const).map((name) => {
    return `${name} ${percentileOrDash(summary, name)}`;
  });
  return `mean ${mean.toFixed(1)}, ${percentiles.join(", ")}, max ${max.toFixed(1)}`;
}

function brief(ms: number): string {
  return String(Number(ms.toPrecision(3)));
}

/** Largest factor by which a simulation is extended, and its margin. */
const MOST_LONGER = 20;
const MARGIN = 1.1;

/**
 * Simulates, and once more for longer if the first result has too few batches for its percentiles.
 * @param simulate with a factor of the duration, 1 at first.
 */
export function withEnoughBatches<R extends { readonly latencyMs: LatencySummary | null }>(
  simulate: (longer: number) => R,
): R {
  const found = simulate(1);
  const longer = longerFor(found.latencyMs?.batches);
  return longer === 1 ? found : simulate(longer);
}

/** Returns the factor by which a simulation is too short; 1 if it is not, or unknown. */
export function longerFor(batches = ENOUGH_BATCHES): number {
  if (batches >= ENOUGH_BATCHES) return 1;
  return Math.min(MOST_LONGER, (MARGIN * ENOUGH_BATCHES) / Math.max(1, batches));
}

/** Percentiles that a level of tables states; 0 if no query was served. */
export function latencyPromise(summary: LatencySummary | null): Required<ExpectedLatency> {
  const { p50 = 0, p95 = 0, p99 = 0, max = 0 } = summary ?? {};
  return { p50, p95, p99, max };
}

/** A promise without p95, which levels of plans do not state. */
export function briefPromise(summary: LatencySummary | null): ExpectedLatency {
  const { p95: _, ...promise } = latencyPromise(summary);
  return promise;
}

/** Percentiles that a simulated level states; 0 if no query was served. */
export function expectedTimes(
  found: Readonly<Record<keyof ExpectedTimes, LatencySummary | null>>,
): Pick<PipelineExpected, "latencyMsP50" | "latencyMsP99" | keyof ExpectedTimes> {
  const [latencyMs, queueMs] = [briefPromise(found.latencyMs), briefPromise(found.queueMs)];
  return { latencyMsP50: latencyMs.p50, latencyMsP99: latencyMs.p99, latencyMs, queueMs };
}

/**
 * Latencies of the queries served, in bounded memory.
 *
 * Mean and maximum are always exact. Percentiles are exact up to `maxKept` queries; beyond that
 * they come from every second query, then every fourth, and so on.
 */
export class LatencySample {
  readonly #maxKept: number;
  #keptMs = new Float64Array(FIRST_CAPACITY);
  #keptCount = 0;
  /** Every stride-th query is kept. */
  #stride = 1;
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** @param maxKept a power of two. */
  constructor(maxKept = MAX_KEPT) {
    this.#maxKept = maxKept;
  }

  record(latencyMs: number): void {
    if (this.#count % this.#stride === 0) this.#keep(latencyMs);
    this.#count++;
    this.#sumMs += latencyMs;
    if (latencyMs > this.#maxMs) this.#maxMs = latencyMs;
  }

  /**
   * Null if no query was served. Percentiles are nearest ranks.
   * @param perBatch mean queries that share a batch; left out if that is unknown.
   */
  summary(perBatch?: number): LatencySummary | null {
    if (this.#count === 0) return null;
    const keptMs = this.#keptMs.slice(0, this.#keptCount);
    const rank50 = nearestRank(keptMs, 50);
    const rank95 = nearestRank(keptMs, 95);
    const rank99 = nearestRank(keptMs, 99);
    // Each selection leaves only larger latencies after its rank, where the next one searches.
    return {
      mean: this.#sumMs / this.#count,
      p50: selectRank(keptMs, 0, keptMs.length, rank50),
      p95: selectRank(keptMs, rank50, keptMs.length, rank95),
      p99: selectRank(keptMs, rank95, keptMs.length, rank99),
      max: this.#maxMs,
      ...(perBatch !== undefined && this.#batches(perBatch)),
    };
  }

  #batches(perBatch: number): Pick<LatencySummary, "batches" | "intervals"> {
    const intervals = percentileIntervals(this.#keptMs.subarray(0, this.#keptCount), perBatch);
    const batches = Math.round(this.#count / perBatch);
    return { batches, ...(intervals !== null && { intervals }) };
  }

  #keep(latencyMs: number): void {
    if (this.#keptCount === this.#maxKept) this.#thin();
    if (this.#keptCount === this.#keptMs.length) {
      const grown = new Float64Array(2 * this.#keptMs.length);
      grown.set(this.#keptMs);
      this.#keptMs = grown;
    }
    this.#keptMs[this.#keptCount++] = latencyMs;
  }

  /**
   * Drops every second kept latency. The current query is the `maxKept` × stride-th, which the
   * doubled stride keeps too.
   */
  #thin(): void {
    this.#keptCount /= 2;
    this.#stride *= 2;
    for (let index = 0; index < this.#keptCount; index++) {
      this.#keptMs[index] = this.#keptMs[2 * index] ?? Number.NaN;
    }
  }
}

/**
 * Index, in ascending order, of the smallest entry that at least `percent` of the entries do not
 * exceed.
 */
function nearestRank({ length }: Float64Array, percent: number): number {
  return Math.ceil((percent * length) / 100) - 1;
}
