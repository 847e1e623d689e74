/** Streams of batches and arrivals as servers see them, drawn. */
import { Rng } from "../../runtime/core/rng.ts";
import type { Reading } from "../../runtime/server/measures/watched.ts";

/** What batches of one variant take, over their profile. */
export interface RatioStream {
  next(): number;
}

/** Standard normal numbers, near enough: the sum of twelve uniform ones. */
export function normalsOf(rng: Rng): () => number {
  return () => {
    let sum = -6;
    for (let term = 0; term < 12; term++) sum += rng.nextFloat();
    return sum;
  };
}

/** Independent, log-normal around 1, as a quiet machine measures them. */
export function independentRatios(seed: number): RatioStream {
  const normal = normalsOf(new Rng(seed, 1));
  return { next: () => Math.exp(0.15 * normal()) };
}

/**
 * As a shared machine measures them: neighbours in time resemble each other, and one batch in
 * twenty is in a burst of about ten batches that take three times as long.
 */
export function burstyRatios(seed: number): RatioStream {
  const rng = new Rng(seed, 2);
  const normal = normalsOf(rng);
  let drift = 0;
  let isBurst = false;
  return {
    next: () => {
      drift = 0.95 * drift + 0.02 * normal();
      if (rng.nextFloat() < (isBurst ? 0.1 : 0.1 / 19)) isBurst = !isBurst;
      return (isBurst ? 3 : 1) * Math.exp(drift + 0.15 * normal());
    },
  };
}

/** Rows of windows that Poisson arrivals bring. */
export function poissonCounts(seed: number, mean: number): () => number {
  const rng = new Rng(seed, 3);
  const none = Math.exp(-mean);
  return () => {
    let count = -1;
    for (let product = 1; product > none; product *= rng.nextFloat()) count++;
    return count;
  };
}

/** Of a server of which nothing is known yet but its promises. */
export function readingOf(changes: Partial<Reading> = {}): Reading {
  return {
    bundleSha256: "a",
    compiled: { process: "poisson" },
    loadQps: 50,
    pace: 1,
    topLevelQps: 100,
    promised: { violationRate: 0.01, feasible: true },
    rows: { satisfied: 0, late: 0, dropped: 0 },
    accuracySum: 0,
    ...changes,
  };
}
