/**
 * The two objectives a policy can be computed for. The one per query has a price of latency.
 *
 * per-decision: the paper's reward (§4.1), accuracy · satisfied once per decision however many
 * queries it serves. per-query: E[Σ accuracy of satisfied queries] / E[queries], what users see,
 * less the price of their mean latency. A ratio of two average rewards, maximised by Dinkelbach's
 * steps: solve for the reward n · (accuracy · satisfied − g), set g to the ratio its policy
 * attains, repeat; g never falls after the first step and converges superlinearly. (W. Dinkelbach,
 * "On Nonlinear Fractional Programming", 1967.)
 */
import type { RamsisOptions } from "stratagem-runtime/internal/bundle/schema";
import {
  type Guarantees,
  guaranteesOf,
  idleDistribution,
  type PolicyPart,
  stationaryDistribution,
} from "./guarantees.ts";
import { iterateValues, type ValueIterationResult } from "./value-iteration.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

export interface SolvedPolicy {
  /** Chosen action of every state, shape (stateCount,). */
  readonly choice: Uint32Array;
  /** A second policy that makes a share of the decisions, or null. */
  readonly mixture: PolicyPart | null;
  readonly guarantees: Guarantees;
  /** Total sweeps of value iteration. */
  readonly iterations: number;
  /** Span of the last Bellman residual, in units of reward. */
  readonly residual: number;
}

/** Span of the residual, as accuracy, at which values count as converged. */
export const VALUE_TOLERANCE = 1e-10;
/** Change of the stationary distribution, summed over states, at which it counts as converged. */
const MASS_TOLERANCE = 1e-14;
/** The first Dinkelbach steps only need to approximate the ratio. */
const COARSE_VALUE_TOLERANCE = 1e-3;
/** The length of a Dinkelbach step needs the mean batch to a few digits. */
const COARSE_MASS_TOLERANCE = 1e-5;
export const MAX_SWEEPS = 100_000;
const MAX_DINKELBACH_STEPS = 30;

/** @param latencyPrice in accuracy per SLO of mean latency; for the objective per query. */
export function solvePolicy(
  mdp: WorkerMdp,
  objective: RamsisOptions["objective"],
  latencyPrice = 0,
): SolvedPolicy {
  return objective === "per-query"
    ? maximiseRatio(mdp, queryWorth(mdp, latencyPrice), null).solved
    : maximiseReward(mdp);
}

/** Worth of a query that the action serves, shape (actionCount,). */
export function queryWorth(mdp: WorkerMdp, latencyPrice: number): Float64Array {
  return mdp.actionAccuracy.map(
    (accuracy, action) => accuracy - latencyPrice * (mdp.actionLatency[action] ?? 0),
  );
}

/** Steady state of a given policy. */
export function evaluatePolicy(mdp: WorkerMdp, policy: readonly PolicyPart[]): Guarantees {
  const mass = steadyState(mdp, policy, idleDistribution(mdp), MASS_TOLERANCE);
  return guaranteesOf(mdp, policy, mass);
}

/** A policy as a whole: one part with every decision. */
export function pure(choice: Uint32Array): PolicyPart[] {
  return [{ share: 1, choice }];
}

function maximiseReward(mdp: WorkerMdp): SolvedPolicy {
  const initialValue = new Float64Array(mdp.stateCount);
  const { choice, sweeps, residual } = iterate(
    mdp,
    mdp.actionAccuracy,
    initialValue,
    VALUE_TOLERANCE,
  );
  const guarantees = evaluatePolicy(mdp, pure(choice));
  return { choice, mixture: null, guarantees, iterations: sweeps, residual };
}

/**
 * Start of a search: the values, steady state and ratio of a nearly as good policy. The result does
 * not depend on it.
 */
export interface RatioStart {
  readonly value: Float64Array;
  readonly mass: Float64Array;
  readonly ratio: number;
}

/**
 * The policy with the most worth per query. A step from g to the ratio that its policy attains is g
 * + gain / mean batch, where gain is the average of n · (worth − g): so the optimum is where the
 * gain is 0, and the steps need only the mean batch of the stationary distribution.
 *
 * @param worth of a query that the action serves, about 1 at most, shape (actionCount,).
 * @param start null without a starting policy.
 */
export function maximiseRatio(
  mdp: WorkerMdp,
  worth: Float64Array,
  start: RatioStart | null,
): { readonly solved: SolvedPolicy; readonly end: RatioStart } {
  let { value, mass, ratio, iterations } = { iterations: 0, ...(start ?? firstGuess(mdp, worth)) };
  let tolerance = COARSE_VALUE_TOLERANCE;
  let solved: ValueIterationResult | null = null;
  for (let step = 0; step < MAX_DINKELBACH_STEPS; step++) {
    solved = iterate(mdp, ratioReward(mdp, worth, ratio), value, tolerance);
    value = solved.value;
    iterations += solved.sweeps;
    const policy = pure(solved.choice);
    mass = steadyState(mdp, policy, mass, COARSE_MASS_TOLERANCE);
    const change = solved.gain / guaranteesOf(mdp, policy, mass).meanBatch;
    if (tolerance === VALUE_TOLERANCE && Math.abs(change) <= VALUE_TOLERANCE) break;
    ratio += change;
    // A step's error is about the square of the one before, so solving it more exactly is wasted.
    tolerance = Math.max(VALUE_TOLERANCE, Math.min(COARSE_VALUE_TOLERANCE, change * change));
  }
  if (solved === null) throw new RangeError("Dinkelbach's method took no step");
  const { choice, residual } = solved;
  const guarantees = evaluatePolicy(mdp, pure(choice));
  return {
    solved: { choice, mixture: null, guarantees, iterations, residual },
    end: { value, mass, ratio },
  };
}

/** The reward once per decision is close to the ratio from the start. */
function firstGuess(mdp: WorkerMdp, worth: Float64Array): RatioStart & { iterations: number } {
  const { choice, value, sweeps } = iterate(
    mdp,
    worth,
    new Float64Array(mdp.stateCount),
    COARSE_VALUE_TOLERANCE,
  );
  const mass = steadyState(mdp, pure(choice), idleDistribution(mdp), COARSE_MASS_TOLERANCE);
  let queries = 0;
  let total = 0;
  for (let state = 0; state < mdp.stateCount; state++) {
    const action = choice[state] ?? 0;
    const weight = (mass[state] ?? 0) * (mdp.actionBatch[action] ?? 0);
    queries += weight;
    total += weight * (worth[action] ?? 0);
  }
  return { value, mass, ratio: total / queries, iterations: sweeps };
}

/** Reward n · (worth − ratio) of every action, shape (actionCount,). */
export function ratioReward(mdp: WorkerMdp, worth: Float64Array, ratio: number): Float64Array {
  return worth.map((each, action) => (mdp.actionBatch[action] ?? 0) * (each - ratio));
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
  policy: readonly PolicyPart[],
  initialMass: Float64Array,
  tolerance: number,
): Float64Array {
  return stationaryDistribution(mdp, policy, initialMass, tolerance, MAX_SWEEPS).mass;
}
