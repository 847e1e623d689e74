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
import { iterateValues, type ValueIterationResult } from "./value-iteration.ts";
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
const COARSE_VALUE_TOLERANCE = 1e-3;
/** The length of a Dinkelbach step needs the mean batch to a few digits. */
const COARSE_MASS_TOLERANCE = 1e-5;
const MAX_SWEEPS = 100_000;
const MAX_DINKELBACH_STEPS = 30;

export function solvePolicy(mdp: WorkerMdp, objective: RamsisOptions["objective"]): SolvedPolicy {
  return objective === "per-query" ? maximiseRatio(mdp) : maximiseReward(mdp);
}

/** Steady state of a given policy. @param choice action of every state. */
export function evaluatePolicy(mdp: WorkerMdp, choice: Uint32Array): Guarantees {
  const mass = steadyState(mdp, choice, idleDistribution(mdp), MASS_TOLERANCE);
  return guaranteesOf(mdp, choice, mass);
}

function maximiseReward(mdp: WorkerMdp): SolvedPolicy {
  const initialValue = new Float64Array(mdp.stateCount);
  const { choice, sweeps, residual } = iterate(
    mdp,
    mdp.actionAccuracy,
    initialValue,
    VALUE_TOLERANCE,
  );
  return { choice, guarantees: evaluatePolicy(mdp, choice), iterations: sweeps, residual };
}

/**
 * A step from g to the ratio that its policy attains is g + gain / mean batch, where gain is the average of n · (accuracy · satisfied − g):
 * so the optimum is where the gain is 0, and only the mean batch is asked of the stationary distribution on the way.
 */
function maximiseRatio(mdp: WorkerMdp): SolvedPolicy {
  // The per-decision reward leads near the ratio at once.
  let tolerance = COARSE_VALUE_TOLERANCE;
  let solved = iterate(mdp, mdp.actionAccuracy, new Float64Array(mdp.stateCount), tolerance);
  let mass = steadyState(mdp, solved.choice, idleDistribution(mdp), COARSE_MASS_TOLERANCE);
  let ratio = guaranteesOf(mdp, solved.choice, mass).accuracyPerQuery;
  let iterations = solved.sweeps;
  for (let step = 0; step < MAX_DINKELBACH_STEPS; step++) {
    solved = iterate(mdp, ratioReward(mdp, ratio), solved.value, tolerance);
    iterations += solved.sweeps;
    mass = steadyState(mdp, solved.choice, mass, COARSE_MASS_TOLERANCE);
    const change = solved.gain / guaranteesOf(mdp, solved.choice, mass).meanBatch;
    if (tolerance === VALUE_TOLERANCE && Math.abs(change) <= VALUE_TOLERANCE) break;
    ratio += change;
    // A step's error is about the square of the one before, so solving it more exactly is wasted.
    tolerance = Math.max(VALUE_TOLERANCE, Math.min(COARSE_VALUE_TOLERANCE, change * change));
  }
  const { choice, residual } = solved;
  return { choice, guarantees: evaluatePolicy(mdp, choice), iterations, residual };
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

function iterate(
  mdp: WorkerMdp,
  reward: Float64Array,
  initialValue: Float64Array,
  tolerance: number,
): ValueIterationResult {
  return iterateValues(mdp, reward, initialValue, { tolerance, maxSweeps: MAX_SWEEPS });
}

function steadyState(
  mdp: WorkerMdp,
  choice: Uint32Array,
  initialMass: Float64Array,
  tolerance: number,
): Float64Array {
  return stationaryDistribution(mdp, choice, initialMass, tolerance, MAX_SWEEPS).mass;
}
