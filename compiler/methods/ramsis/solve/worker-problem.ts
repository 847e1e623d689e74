/** One worker's model-selection problem at one load, as data. Source: RAMSIS §3.1, §4. */
import {
  KNOT_COUNT,
  meanBetweenQuantiles,
  probabilityAtMost,
} from "stratagem-runtime/internal/core/quantile-distribution";

export interface WorkerProblem {
  /** Workers that share the central queue round-robin. */
  readonly workerCount: number;
  /** Queries per millisecond at the central queue. */
  readonly arrivalRatePerMs: number;
  /**
   * The same while a batch runs that at least three queries waited for, if the balancer then sends
   * fewer; or null.
   */
  readonly crowdedRatePerMs: number | null;
  /** Variance over mean of the arrivals in an interval; Poisson up to 1. */
  readonly dispersion: number;
  /** Slack grid T_0 = 0 < … < T_D = SLO in ms, shape (slackCount,). */
  readonly slackMs: Float64Array;
  /** Largest queue length N with its own state; a longer queue is the full-queue state. */
  readonly maxQueue: number;
  /** Whether a batch may leave waiting queries out. */
  readonly partialBatches: boolean;
  readonly variantCount: number;
  /** Shape (variantCount,). */
  readonly accuracy: Float64Array;
  /** Variants the policy may choose, ascending. */
  readonly candidates: readonly number[];
  /** Largest batch of each variant, shape (variantCount,). */
  readonly largestBatch: Uint32Array;
  /** Batch service time, shape (variantCount, maxQueue + 1): axis 1 is the batch size minus one. */
  readonly serviceMs: Float64Array;
  /**
   * Distributions to use instead of `serviceMs`, shape (variantCount, maxQueue + 1, KNOT_COUNT),
   * see `quantileKnots`; or null.
   */
  readonly serviceKnotsMs: Float64Array | null;
}

/** A variant and the number of queries to run on it. */
export interface Action {
  readonly variant: number;
  /** Queries it serves, from 1. */
  readonly batch: number;
}

export function isSame(a: Action, b: Action): boolean {
  return a.variant === b.variant && a.batch === b.batch;
}

/**
 * Service time of one batch in ms, as profiled.
 * @param batch 1 … maxQueue + 1.
 */
export function serviceTimeMs(problem: WorkerProblem, variant: number, batch: number): number {
  return problem.serviceMs[serviceCell(problem, variant, batch)] ?? Number.NaN;
}

/** Index of a batch in tables of service times. */
export function serviceCell(problem: WorkerProblem, variant: number, batch: number): number {
  return variant * (problem.maxQueue + 1) + batch - 1;
}

/** A service time and its probability. */
export interface ServiceAtom {
  readonly ms: number;
  readonly probability: number;
}

/**
 * Between two of these quantiles the service time is replaced by its mean there; they are closer in
 * the tail.
 */
const ATOM_QUANTILES = [0, 0.25, 0.5, 0.75, 0.95, 1] as const;

/**
 * Service time of a batch: one atom, or the conditional means of its distribution, which keep its
 * mean.
 */
export function serviceAtoms(problem: WorkerProblem, { variant, batch }: Action): ServiceAtom[] {
  const cell = serviceCell(problem, variant, batch);
  const { serviceMs, serviceKnotsMs } = problem;
  if (serviceKnotsMs === null) return [{ ms: serviceMs[cell] ?? Number.NaN, probability: 1 }];
  return ATOM_QUANTILES.slice(1).map((high, index) => {
    const low = ATOM_QUANTILES[index] ?? 0;
    const ms = meanBetweenQuantiles(serviceKnotsMs, cell * KNOT_COUNT, low, high);
    return { ms, probability: high - low };
  });
}

export function meanServiceMs(problem: WorkerProblem, variant: number, batch: number): number {
  const { serviceKnotsMs } = problem;
  if (serviceKnotsMs === null) return serviceTimeMs(problem, variant, batch);
  const cell = serviceCell(problem, variant, batch);
  return meanBetweenQuantiles(serviceKnotsMs, cell * KNOT_COUNT, 0, 1);
}

/**
 * Probability that a batch takes at most `slackMs`; of the distribution itself, not of its atoms.
 */
export function probabilityInTime(
  problem: WorkerProblem,
  { variant, batch }: Action,
  slackMs: number,
): number {
  const { serviceKnotsMs } = problem;
  if (serviceKnotsMs === null) return serviceTimeMs(problem, variant, batch) <= slackMs ? 1 : 0;
  return probabilityAtMost(
    serviceKnotsMs,
    serviceCell(problem, variant, batch) * KNOT_COUNT,
    slackMs,
  );
}

/**
 * The candidate that serves a batch of this size soonest; ties go to the lowest index, −1 for a
 * batch that no variant takes.
 */
export function fastestVariant(problem: WorkerProblem, batch: number): number {
  let fastest = -1;
  let fastestMs = Number.POSITIVE_INFINITY;
  for (const variant of problem.candidates) {
    if (batch > (problem.largestBatch[variant] ?? 0)) continue;
    const ms = meanServiceMs(problem, variant, batch);
    if (ms < fastestMs) {
      fastest = variant;
      fastestMs = ms;
    }
  }
  return fastest;
}
