/** Promises of a level in the terms that all methods share; gates judge and compare them. */
import { MICROS, type Pool, priceMicros } from "stratagem-runtime/internal/bundle/schema";
import type { MissedLimit } from "stratagem-runtime/internal/describe/missed-limits";
import type { LevelFigure } from "../spec/schema/promise-figures.ts";

/**
 * Figures by the names of requirements: ratios in 0..1, latency percentiles in ms, cost per hour in
 * the currency of the prices, counts. Figures that are not promised are left out.
 */
export type Figures = Readonly<Partial<Record<LevelFigure, number>>>;

/** Simulation that figures are from. */
export interface Sample {
  readonly queries: number;
  /** Left out if the promised rate is the counted one. */
  readonly violations?: number;
  /** True if only latencies are simulated, and rates computed. */
  readonly hasExactRates?: true;
  /** Highest accuracy of a query; left out if accuracies are planned and not simulated. */
  readonly bestAccuracy?: number;
}

export interface LevelPromises {
  readonly loadQps: number;
  readonly feasible: boolean;
  /** Limits that the level misses; empty if it is feasible. */
  readonly missed: readonly MissedLimit[];
  /** Figures of all queries. */
  readonly figures: Figures;
  /** Left out if the figures are computed. */
  readonly sample?: Sample;
  /** Simulation for each pace; left out without promises by pace. */
  readonly paceSample?: Sample;
  /** Figures of each class and bucket; empty without classes and buckets. */
  readonly classes: readonly NamedFigures[];
  readonly buckets: readonly NamedFigures[];
}

export interface NamedFigures {
  readonly name: string;
  readonly figures: Figures;
  readonly sample?: Sample;
}

/**
 * Returns the number of workers, and their cost if all pools in use have a price.
 * @param workers of each pool, in pool order; fractional if cores are counted.
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
