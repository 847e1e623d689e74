/**
 * What a policy promises: its steady state, weighted by the queries each decision serves. Source: RAMSIS §5.1.
 *
 * The violation rate is an upper bound and the accuracies are lower bounds: a whole batch counts as late when its earliest
 * deadline is missed, and slack is rounded down to the grid.
 */
import { spreadOverPhases } from "../../numeric/bellman.ts";
import { multiplyColumns } from "../../numeric/csr.ts";
import { DAMPING } from "./value-iteration.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

export interface Guarantees {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /** Queries per decision. */
  readonly meanBatch: number;
}

export interface StationaryDistribution {
  /** Probability of each state at a decision, shape (stateCount,). */
  readonly mass: Float64Array;
  readonly iterations: number;
  /** Largest change of the last step, summed over states. */
  readonly residual: number;
}

/** All mass on the state an idle worker wakes up in: where the power iteration may start. */
export function idleDistribution(mdp: WorkerMdp): Float64Array {
  const mass = new Float64Array(mdp.stateCount);
  mass[mdp.idleState] = 1;
  return mass;
}

/**
 * Power iteration, damped as value iteration is and for the same reason. @param choice action of every state, shape (stateCount,). @param initialMass shape (stateCount,); the result does not
 * depend on it, only the number of steps does.
 */
export function stationaryDistribution(
  mdp: WorkerMdp,
  choice: Uint32Array,
  initialMass: Float64Array,
  tolerance: number,
  maxIterations: number,
): StationaryDistribution {
  const { rowCount, start, column, probability } = mdp.transitions;
  const phaseMass = new Float64Array(rowCount);
  let mass = initialMass.slice();
  let next = new Float64Array(mdp.stateCount);
  let residual = Number.POSITIVE_INFINITY;
  let iterations = 0;
  let isLast = false;
  for (; iterations < maxIterations && !isLast; iterations++) {
    // The last step is undamped: damping would leave a trace of the initial mass on states that cannot recur.
    isLast = residual <= tolerance;
    const damping = isLast ? 1 : DAMPING;
    spreadOverPhases(
      mdp.reached,
      mdp.phaseCount,
      mdp.actionBlock,
      choice,
      mdp.phaseWeight,
      mdp.phaseStart,
      mdp.phaseEnd,
      mass,
      phaseMass,
    );
    multiplyColumns(rowCount, start, column, probability, phaseMass, next);
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

export function guaranteesOf(mdp: WorkerMdp, choice: Uint32Array, mass: Float64Array): Guarantees {
  let queries = 0;
  let satisfied = 0;
  let accuracy = 0;
  for (let state = 0; state < mdp.stateCount; state++) {
    const action = choice[state] ?? 0;
    const weight = (mass[state] ?? 0) * (mdp.batch[state] ?? 0);
    queries += weight;
    satisfied += weight * (mdp.actionSatisfied[action] ?? 0);
    accuracy += weight * (mdp.actionAccuracy[action] ?? 0);
  }
  return {
    accuracyPerSatisfied: satisfied > 0 ? accuracy / satisfied : 0,
    accuracyPerQuery: accuracy / queries,
    violationRate: Math.max(0, 1 - satisfied / queries),
    meanBatch: queries,
  };
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
