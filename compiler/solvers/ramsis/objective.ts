/**
 * The two objectives a policy can be computed for.
 *
 * per-decision: the paper's reward (§4.1), accuracy · satisfied once per decision however many queries it serves.
 * per-query: E[Σ accuracy of satisfied queries] / E[queries], what users see. A ratio of two average rewards, maximised by
 * Dinkelbach's steps: solve for the reward n · (accuracy · satisfied − g), set g to the ratio its policy attains, repeat; g
 * never falls after the first step and converges superlinearly. (W. Dinkelbach, "On Nonlinear Fractional Programming", 1967.)
 */
import type { RamsisOptions } from "../../../runtime/bundle/schema.ts";
import {
  type Guarantees,
  guaranteesOf,
  idleDistribution,
  stationaryDistribution,
} from "./guarantees.ts";
import { iterateValues } from "./value-iteration.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

export interface SolvedPolicy {
  /** Chosen action of every state, shape (stateCount,). */
  readonly choice: Uint32Array;
  readonly guarantees: Guarantees;
  /** Sweeps of value iteration in all. */
  readonly iterations: number;
  /** Span of the last Bellman residual, in units of reward. */
  readonly residual: number;
}

/** Span of the residual, as accuracy, at which values count as converged. */
const VALUE_TOLERANCE = 1e-10;
/** Change of the stationary distribution, summed over states, at which it counts as converged. */
const MASS_TOLERANCE = 1e-14;
/** The first Dinkelbach steps only have to find the neighbourhood of the ratio. */
const COARSE_TOLERANCE = 1e-3;
const MAX_SWEEPS = 100_000;
const MAX_DINKELBACH_STEPS = 30;

export function solvePolicy(mdp: WorkerMdp, objective: RamsisOptions["objective"]): SolvedPolicy {
  return objective === "per-query" ? maximiseRatio(mdp) : maximiseReward(mdp);
}

/** Steady state of a given policy. @param choice action of every state. */
export function evaluatePolicy(mdp: WorkerMdp, choice: Uint32Array): Guarantees {
  return guaranteesOf(mdp, choice, steadyState(mdp, choice, idleDistribution(mdp)));
}

function maximiseReward(mdp: WorkerMdp): SolvedPolicy {
  const { choice, sweeps, residual } = iterateValues(
    mdp,
    mdp.actionAccuracy,
    new Float64Array(mdp.stateCount),
    { tolerance: VALUE_TOLERANCE, maxSweeps: MAX_SWEEPS },
  );
  return { choice, guarantees: evaluatePolicy(mdp, choice), iterations: sweeps, residual };
}

function maximiseRatio(mdp: WorkerMdp): SolvedPolicy {
  // The per-decision reward leads near the ratio at once; starting from g = 0 takes two more steps.
  let reward = mdp.actionAccuracy;
  let value: Float64Array = new Float64Array(mdp.stateCount);
  let mass = idleDistribution(mdp);
  let tolerance = COARSE_TOLERANCE;
  let ratio = 0;
  let iterations = 0;
  for (let step = 0; ; step++) {
    const solved = iterateValues(mdp, reward, value, { tolerance, maxSweeps: MAX_SWEEPS });
    iterations += solved.sweeps;
    mass = steadyState(mdp, solved.choice, mass);
    const guarantees = guaranteesOf(mdp, solved.choice, mass);
    const change = Math.abs(guarantees.accuracyPerQuery - ratio);
    const isExact = tolerance === VALUE_TOLERANCE && change <= VALUE_TOLERANCE;
    if (isExact || step === MAX_DINKELBACH_STEPS) {
      return { choice: solved.choice, guarantees, iterations, residual: solved.residual };
    }
    ratio = guarantees.accuracyPerQuery;
    value = solved.value;
    reward = ratioReward(mdp, ratio);
    // A step's error is about the square of the one before, so solving it more exactly is wasted.
    tolerance = Math.max(VALUE_TOLERANCE, Math.min(COARSE_TOLERANCE, change * change));
  }
}

/** Reward n · (accuracy · satisfied − ratio) of every action, shape (actionCount,). */
function ratioReward(mdp: WorkerMdp, ratio: number): Float64Array {
  const reward = new Float64Array(mdp.actionAccuracy.length);
  for (let state = 0; state < mdp.stateCount; state++) {
    const batch = mdp.batch[state] ?? 0;
    const end = mdp.actionStart[state + 1] ?? 0;
    for (let action = mdp.actionStart[state] ?? 0; action < end; action++) {
      reward[action] = batch * ((mdp.actionAccuracy[action] ?? 0) - ratio);
    }
  }
  return reward;
}

function steadyState(mdp: WorkerMdp, choice: Uint32Array, initialMass: Float64Array): Float64Array {
  return stationaryDistribution(mdp, choice, initialMass, MASS_TOLERANCE, MAX_SWEEPS).mass;
}
