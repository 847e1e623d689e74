/** Proteus' program for one task: which variant each worker runs, and its share of the traffic. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { fastestOf, type PeerCluster, type PeerVariant, rateOf } from "./peer-cluster.ts";

export interface ProteusVariant {
  readonly variant: PeerVariant;
  /** The batch that its workers fill. */
  readonly batch: number;
  /** Queries per second of one worker. */
  readonly rateQps: number;
}

export interface ProteusPlan {
  /** Indexed by variant, in the planner's order. */
  readonly workers: readonly number[];
  /** Share of the traffic, by variant; the sum is 1. */
  readonly shares: readonly number[];
}

/**
 * If the demand is beyond capacity, plans are made for a fraction of it, in steps down to a fifth.
 */
const STEP = 0.05;
const LARGE_STEP = 0.1;
const LARGE_BETA = 1.5;
const LEAST_BETA = 0.2;

/** Capacities are distinguished in steps, as many as a table of this size allows. */
const MAX_CELLS = 4_000_000;
/** No variant: a spare worker. */
const NONE = 0xffff;

/**
 * Finds the plan of the highest accuracy for a demand, exact except for rounding rates down to
 * steps: a table of the capacity and accuracy of at most K − 1 fully used workers has every
 * candidate, since in the best plan at most one worker has capacity left.
 */
export class ProteusPlanner {
  readonly variants: readonly ProteusVariant[];
  readonly #workerCount: number;
  /** Queries per second of one step of the table, and of each variant's worker in steps. */
  readonly #unitQps: number;
  readonly #units: Uint32Array;
  /**
   * Most accuracy, in accuracy times steps, of an exact number of steps by at most K − 1 workers;
   * −∞ if impossible.
   */
  readonly #accuracyByUnits: Float64Array;
  /**
   * Variant of the last of at most this many workers that carry this many steps, shape (workerCount
   * − 1, capacity).
   */
  readonly #lastVariant: Uint16Array;

  /**
   * @param batchShare a batch takes less than this part of the SLO: half of it in the paper's text,
   * all of it in its code.
   */
  constructor(cluster: PeerCluster, batchShare: number) {
    this.variants = plannedVariants(cluster, batchShare);
    this.#workerCount = cluster.workerCount;
    const used = cluster.workerCount - 1;
    const rates = this.variants.map(({ rateQps }) => rateQps);
    this.#unitQps = (Math.max(1, used * used) * Math.max(...rates)) / MAX_CELLS;
    this.#units = Uint32Array.from(rates, (rateQps) => Math.floor(rateQps / this.#unitQps));
    const columns = used * Math.max(...this.#units) + 1;
    this.#accuracyByUnits = new Float64Array(columns).fill(Number.NEGATIVE_INFINITY);
    this.#accuracyByUnits[0] = 0;
    this.#lastVariant = new Uint16Array(used * columns).fill(NONE);
    for (let worker = 0; worker < used; worker++) this.#addWorker(worker, columns);
  }

  /**
   * @param demandQps above 0.
   * @param highestBeta throughput to plan for each query per second of demand, if possible.
   */
  plan(demandQps: number, highestBeta: number): ProteusPlan {
    for (let beta = highestBeta; beta >= LEAST_BETA; ) {
      const plan = this.#exactPlan(beta * demandQps);
      if (plan !== null) return plan;
      // Steps are integer hundredths, or they would not add up.
      beta = Math.round(100 * (beta - (beta > LARGE_BETA ? LARGE_STEP : STEP))) / 100;
    }
    return this.#fastestPlan();
  }

  /** Adds one worker for every number of steps, from the top down, so that it counts once. */
  #addWorker(worker: number, columns: number): void {
    const best = this.#accuracyByUnits;
    const before = best.slice();
    for (const [index, units] of this.#units.entries()) {
      const gain = units * (this.variants[index]?.variant.accuracy ?? 0);
      for (let column = units; column < columns; column++) {
        const accuracy = (before[column - units] ?? Number.NaN) + gain;
        // Ties go to fewer workers, then to the first variant.
        if (!(accuracy > (best[column] ?? Number.NaN) + 1e-9)) continue;
        best[column] = accuracy;
        this.#lastVariant[worker * columns + column] = index;
      }
    }
  }

  /** @returns null if the load is beyond capacity. */
  #exactPlan(loadQps: number): ProteusPlan | null {
    const load = loadQps / this.#unitQps;
    let best = { accuracy: Number.NEGATIVE_INFINITY, variant: NONE, column: 0 };
    for (const [variant, units] of this.#units.entries()) {
      const accuracyOf = this.variants[variant]?.variant.accuracy ?? 0;
      // The worker with capacity left carries the rest, up to its capacity.
      const first = Math.max(0, Math.ceil(load - units));
      const last = Math.min(Math.floor(load), this.#accuracyByUnits.length - 1);
      for (let column = first; column <= last; column++) {
        const accuracy = (this.#accuracyByUnits[column] ?? 0) + accuracyOf * (load - column);
        if (accuracy > best.accuracy + 1e-9) best = { accuracy, variant, column };
      }
    }
    if (best.variant === NONE) return null;
    const { workers, carried } = this.#used(best.column);
    workers[best.variant] = (workers[best.variant] ?? 0) + 1;
    carried[best.variant] = (carried[best.variant] ?? 0) + (load - best.column);
    this.#spread(workers, carried);
    return { workers: [...workers], shares: Array.from(carried, (units) => units / load) };
  }

  /**
   * Assigns workers that the program leaves without work to the variant whose workers have the most
   * of it.
   */
  #spread(workers: Float64Array, carried: Float64Array): void {
    const used = workers.reduce((sum, count) => sum + count, 0);
    for (let spare = this.#workerCount - used; spare > 0; spare--) {
      let busiest = 0;
      let highest = Number.NEGATIVE_INFINITY;
      for (const [variant, count] of workers.entries()) {
        const use = count === 0 ? 0 : (carried[variant] ?? 0) / count / (this.#units[variant] ?? 1);
        if (use <= highest) continue;
        busiest = variant;
        highest = use;
      }
      workers[busiest] = (workers[busiest] ?? 0) + 1;
    }
  }

  /** The fully used workers that carry a number of steps, by variant. */
  #used(steps: number): { workers: Float64Array; carried: Float64Array } {
    const workers = new Float64Array(this.variants.length);
    const carried = new Float64Array(this.variants.length);
    const columns = this.#accuracyByUnits.length;
    let column = steps;
    for (let worker = this.#workerCount - 2; worker >= 0; worker--) {
      const variant = this.#lastVariant[worker * columns + column] ?? NONE;
      if (variant === NONE) continue;
      const units = this.#units[variant] ?? 0;
      workers[variant] = (workers[variant] ?? 0) + 1;
      carried[variant] = (carried[variant] ?? 0) + units;
      column -= units;
    }
    assert(column === 0, "workers carry the steps of the table");
    return { workers, carried };
  }

  #fastestPlan(): ProteusPlan {
    const rates = this.variants.map(({ rateQps }) => rateQps);
    const fastest = rates.indexOf(Math.max(...rates));
    const of = (value: number): number[] =>
      rates.map((_, variant) => (variant === fastest ? value : 0));
    return { workers: of(this.#workerCount), shares: of(1) };
  }
}

/** Variants with a batch that is short enough, or the fastest with a batch of one. */
function plannedVariants(cluster: PeerCluster, batchShare: number): ProteusVariant[] {
  const planned = cluster.variants.flatMap((variant): ProteusVariant[] => {
    const batch = variant.serviceMs.filter((ms) => ms < batchShare * cluster.sloMs).length;
    return batch === 0 ? [] : [plannedVariant(variant, batch)];
  });
  if (planned.length > 0) return planned;
  return [plannedVariant(fastestOf(cluster), 1)];
}

function plannedVariant(variant: PeerVariant, batch: number): ProteusVariant {
  return { variant, batch, rateQps: rateOf(variant, batch) };
}
