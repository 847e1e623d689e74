/** One worker's model-selection problem at one load, as data. Source: RAMSIS §3.1, §4. */
export interface WorkerProblem {
  /** Workers that share the central queue round-robin. */
  readonly workerCount: number;
  /** Queries per millisecond at the central queue. */
  readonly arrivalRatePerMs: number;
  /** Slack grid T_0 = 0 < … < T_D = SLO in ms, shape (slackCount,). */
  readonly slackMs: Float64Array;
  /** Largest queue length N that is a state of its own; a longer queue is the full-queue state. */
  readonly maxQueue: number;
  readonly variantCount: number;
  /** Shape (variantCount,). */
  readonly accuracy: Float64Array;
  /** Variants the policy may choose, ascending. */
  readonly candidates: readonly number[];
  /** Batch service time, shape (variantCount, maxQueue + 1): axis 1 is the batch size minus one. */
  readonly serviceMs: Float64Array;
}

/** Service time of one batch in ms. @param batch 1 … maxQueue + 1. */
export function serviceTimeMs(problem: WorkerProblem, variant: number, batch: number): number {
  return problem.serviceMs[variant * (problem.maxQueue + 1) + batch - 1] ?? Number.NaN;
}

/** The candidate that serves a batch of this size soonest; ties go to the lowest index, −1 for a batch that has no service times. */
export function fastestVariant(problem: WorkerProblem, batch: number): number {
  let fastest = -1;
  let fastestMs = Number.POSITIVE_INFINITY;
  for (const variant of problem.candidates) {
    const ms = serviceTimeMs(problem, variant, batch);
    if (ms < fastestMs) {
      fastest = variant;
      fastestMs = ms;
    }
  }
  return fastest;
}
