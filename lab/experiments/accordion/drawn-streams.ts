/**
 * The six streams of queries, and what the paper leaves open of them.
 *
 *  - The paper prints their curve without an axis. Here the rate over 10 minutes is low + (high -
 *    low) (1 - cos(2 pi p t / 600 s)) / 2 with p = 2 or 5 peaks and low = 0.2 high (`--low`): the
 *    peaks are 1.67 times the mean. Given how many they are, the arrivals of a Poisson process of
 *    such a rate are independent draws from that density: so they are drawn.
 *  - Offered load: sum of B L over all queries / (64 places x 600 s): 1 is what the places could
 *    just carry if each ran one query at a time. Queries (model, batch, priority) are drawn one
 *    after the other until their work reaches the load, so every seed has the same load; a higher
 *    load adds queries to a lower one.
 *  - Batches: log-normal, sigma of the logarithm 0.5, rounded, at least 1 (so the mean of stream 1
 *    is 1.16). Models and priorities uniform.
 *  - SLO: 10, 25 or 50 % of the longest one-place time of the stream, the same for all its queries.
 */
import {
  type AccordionQueries,
  drawQueries,
} from "stratagem/internal/methods/accordion/simulate/queries";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { mean, present } from "../harness/numbers.ts";
import { PLACES, WHOLE_MS } from "./table-one.ts";

export const DURATION_MS = 600_000;
const ARRIVAL_STREAM = 7;

export const STREAMS = [
  { peaks: 2, meanBatch: 1 },
  { peaks: 2, meanBatch: 20 },
  { peaks: 2, meanBatch: 100 },
  { peaks: 5, meanBatch: 20 },
  { peaks: 5, meanBatch: 50 },
  { peaks: 5, meanBatch: 70 },
] as const;

const SLOS = { strict: 0.1, moderate: 0.25, relaxed: 0.5 };
export type SloName = keyof typeof SLOS;
export const SLO_NAMES = Object.keys(SLOS) as readonly SloName[];

export function sloText(slo: SloName): string {
  return `${slo} SLO (${100 * SLOS[slo]}% of the longest one-place time)`;
}

/** Which queries are drawn. */
export interface StreamOptions {
  /** Index of the stream. */
  readonly stream: number;
  readonly slo: SloName;
  readonly load: number;
  readonly seed: number;
  /** The lowest rate over the highest. */
  readonly low: number;
}

/** Queries, and the bundle for their batches and their SLO. */
export interface DrawnStream {
  readonly bundle: AccordionBundle;
  readonly queries: AccordionQueries;
}

export function drawnStream(bundle: AccordionBundle, options: StreamOptions): DrawnStream {
  const { stream, slo, load, seed, low } = options;
  const { peaks, meanBatch } = present(STREAMS[stream], "a stream from 1 to 6");
  const withBatches = { ...bundle, policy: { ...bundle.policy, meanBatch } };
  const targetMs = load * PLACES * DURATION_MS;
  // Half as many again as are needed on average, and some more: the work of a few may vary a lot.
  const likely = 1.5 * (targetMs / (meanBatch * mean(WHOLE_MS))) + 200;
  const many = { kind: "poisson", qps: (1000 * likely) / DURATION_MS } as const;
  const pool = drawQueries(withBatches, many, DURATION_MS, seed);
  let count = 0;
  let workMs = 0;
  let longestMs = 0;
  while (workMs < targetMs) {
    if (count === pool.batch.length) throw new Error("more queries are needed for the load");
    const ms = (pool.batch[count] ?? 0) * (WHOLE_MS[pool.model[count] ?? 0] ?? 0);
    workMs += ms;
    longestMs = Math.max(longestMs, ms);
    count++;
  }
  const sloMs = SLOS[slo] * longestMs;
  const arrivalMs = arrivalsOf(peaks, count, seed, low);
  return {
    bundle: { ...withBatches, slo: { ...bundle.slo, latencyMs: sloMs } },
    queries: {
      arrivalMs,
      model: pool.model.slice(0, count),
      batch: pool.batch.slice(0, count),
      isHigh: pool.isHigh.slice(0, count),
      deadlineMs: arrivalMs.map((ms) => ms + sloMs),
    },
  };
}

/** Draws from the density that the rate is, by rejection, in order. */
function arrivalsOf(peaks: number, count: number, seed: number, low: number): Float64Array {
  const rng = new Rng(seed, ARRIVAL_STREAM);
  const times = new Float64Array(count);
  for (let drawn = 0; drawn < count; ) {
    const share = rng.nextFloat();
    const wave = (1 - Math.cos(2 * Math.PI * peaks * share)) / 2;
    if (rng.nextFloat() < low + (1 - low) * wave) times[drawn++] = share * DURATION_MS;
  }
  return times.sort();
}
