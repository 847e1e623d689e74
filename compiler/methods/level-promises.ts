/** What a level promises in the terms that all methods share: what gates judge and compare. */
import { MICROS, type Pool, priceMicros } from "stratagem-runtime/internal/bundle/schema";
import type { MissedLimit } from "stratagem-runtime/internal/describe/missed-limits";
import type { LevelFigure } from "../spec/schema/promise-figures.ts";

/**
 * By the names that requirements have: ratios 0..1, percentiles of latency in ms, cost an hour in
 * the unit of the prices, counts. What is not promised is left out.
 */
export type Figures = Readonly<Partial<Record<LevelFigure, number>>>;

export interface LevelPromises {
  readonly loadQps: number;
  readonly feasible: boolean;
  /** Which limits it misses, empty where it is feasible. */
  readonly missed: readonly MissedLimit[];
  /** Of all queries. */
  readonly figures: Figures;
  /** Of the queries of each class and bucket, empty where there are none. */
  readonly classes: readonly NamedFigures[];
  readonly buckets: readonly NamedFigures[];
}

export interface NamedFigures {
  readonly name: string;
  readonly figures: Figures;
}

/**
 * Workers, and what they cost where those that are used have a price.
 * @param workers how many of each pool, in their order; a part of one where cores are counted.
 */
export function workerFigures(
  pools: readonly Pool[],
  workers: readonly number[],
): Pick<Figures, "workers" | "cost"> {
  const sum = workers.reduce((total, count) => total + count, 0);
  return { workers: sum, ...costFigure(pools, workers) };
}

export function costFigure(
  pools: readonly Pool[],
  workers: readonly number[],
): Pick<Figures, "cost"> {
  const micros = pools.reduce((total, pool, index) => {
    const count = workers[index] ?? 0;
    return count === 0 ? total : total + count * priceMicros(pool);
  }, 0);
  return Number.isFinite(micros) ? { cost: Math.round(micros) / MICROS } : {};
}
