/**
 * Guarantees of a policy: its steady state, weighted by the queries each decision serves. Source:
 * RAMSIS §5.1.
 *
 * The violation rate is an upper bound and the accuracies are lower bounds: a whole batch counts as
 * late when its earliest deadline is missed, and slack is rounded down to the grid.
 */
import type { BatchDistribution } from "stratagem-runtime/internal/bundle/schema";
import { spreadOverPhases } from "../../../numeric/bellman.ts";
import { multiplyColumns } from "../../../numeric/csr.ts";
import { distributionOf } from "./batch-distribution.ts";
import { DAMPING } from "./value-iteration.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

export interface Guarantees {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  readonly byBatch: BatchDistribution;
  /** Queries per decision. */
  readonly meanBatch: number;
  /** Mean latency of the queries, in SLOs. */
  readonly meanLatency: number;
}

/**
 * A policy that makes a share of the decisions, chosen independently at random for each. Shares of
 * the parts of one policy sum to 1.
 */
export interface PolicyPart {
  readonly share: number;
  /** Chosen action of every state, shape (stateCount,). */
  readonly choice: Uint32Array;
}

interface StationaryDistribution {
  /** Probability of each state at a decision, shape (stateCount,). */
  readonly mass: Float64Array;
  readonly iterations: number;
  /** Largest change of the last step, summed over states. */
  readonly residual: number;
}

/** All mass on the state an idle worker wakes up in: a start for the power iteration. */
export function idleDistribution(mdp: WorkerMdp): Float64Array {
  const mass = new Float64Array(mdp.stateCount);
  mass[mdp.idleState] = 1;
  return mass;
}

/**
 * Power iteration, damped like value iteration and for the same reason.
 * @param policy its chain is the state-wise mixture of the chains of its parts.
 * @param initialMass shape (stateCount,); the result does not depend on it, only the number of
 * steps does.
 */
export function stationaryDistribution(
  mdp: WorkerMdp,
  policy: readonly PolicyPart[],
  initialMass: Float64Array,
  tolerance: number,
  maxIterations: number,
): StationaryDistribution {
  const { rowCount, start, column, probability } = mdp.transitions;
  const rowMass = new Float64Array(rowCount);
  let mass = initialMass.slice();
  let next = new Float64Array(mdp.stateCount);
  let residual = Number.POSITIVE_INFINITY;
  let iterations = 0;
  let isLast = false;
  for (; iterations < maxIterations && !isLast; iterations++) {
    // The last step is undamped: damping would leave a trace of the initial mass on states that
    // cannot recur.
    isLast = residual <= tolerance;
    const damping = isLast ? 1 : DAMPING;
    rowMass.fill(0);
    for (const { share, choice } of policy) {
      spreadOverPhases(
        mdp.reached,
        mdp.phaseCount,
        mdp.actionRow,
        mdp.directStart,
        choice,
        mdp.phaseWeight,
        mdp.phaseStart,
        mdp.phaseEnd,
        mass,
        share,
        rowMass,
      );
    }
    multiplyColumns(rowCount, start, column, probability, rowMass, next);
    const total = sum(next);
    residual = 0;
    for (const state of mdp.reached) {
      const stepped = (next[state] ?? 0) / total;
      const old = mass[state] ?? 0;
      residual += Math.abs(stepped - old);
      next[state] = old + damping * (stepped - old);
    }
    [mass, next] = [next, mass];
  }
  return { mass, iterations, residual };
}

export function guaranteesOf(
  mdp: WorkerMdp,
  policy: readonly PolicyPart[],
  mass: Float64Array,
): Guarantees {
  let queries = 0;
  let satisfied = 0;
  let accuracy = 0;
  let latency = 0;
  for (const { share, choice } of policy) {
    for (let state = 0; state < mdp.stateCount; state++) {
      const action = choice[state] ?? 0;
      const weight = share * (mass[state] ?? 0) * (mdp.actionBatch[action] ?? 0);
      queries += weight;
      satisfied += weight * (mdp.actionSatisfied[action] ?? 0);
      accuracy += weight * (mdp.actionAccuracy[action] ?? 0);
      latency += weight * (mdp.actionLatency[action] ?? 0);
    }
  }
  return {
    accuracyPerSatisfied: satisfied > 0 ? accuracy / satisfied : 0,
    accuracyPerQuery: accuracy / queries,
    violationRate: Math.max(0, 1 - satisfied / queries),
    byBatch: distributionOverBatches(mdp, policy, mass),
    meanBatch: queries,
    meanLatency: latency / queries,
  };
}

function distributionOverBatches(
  mdp: WorkerMdp,
  policy: readonly PolicyPart[],
  mass: Float64Array,
): BatchDistribution {
  const massByAccuracy = new Map<number, number>();
  let late = 0;
  for (const { share, choice } of policy) {
    for (let state = 0; state < mdp.stateCount; state++) {
      const weight = share * (mass[state] ?? 0);
      if (weight === 0) continue;
      const action = choice[state] ?? 0;
      const accuracy = mdp.actionAccuracy[action] ?? 0;
      massByAccuracy.set(accuracy, (massByAccuracy.get(accuracy) ?? 0) + weight);
      late += weight * (1 - (mdp.actionSatisfied[action] ?? 0));
    }
  }
  const timely = Array.from(massByAccuracy, ([accuracy, weight]) => ({ accuracy, weight }));
  return distributionOf(timely, 1, late);
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
