/**
 * Relative value iteration for the average reward per decision: V ← V + d (max_a [ r + P V ] − gain
 * − V), with damping d.
 *
 * A worker's queue lengths nearly repeat in a short cycle, so the undamped iteration rings: its
 * error shrinks by 0.84 a sweep at 2000 queries/s and K = 60. Damping turns the ringing modes
 * inward and leaves the fixed point unchanged (the aperiodicity transformation, Puterman §8.5.4).
 *
 * Stops when the span of the Bellman residual max(V' − V) − min(V' − V) is at most `tolerance`; the
 * greedy policy is then within `tolerance` of the optimal gain (Puterman, Markov Decision
 * Processes, 1994, theorem 8.5.6). Only states that some transition reaches are swept; the others
 * affect no value and get their greedy action at the end.
 */
import { greedyBackup } from "../../../numeric/bellman.ts";
import { multiplyRows } from "../../../numeric/csr.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

/**
 * Tried 0.5 to 1 on the example's levels: 0.85 needs the fewest sweeps in all, and less than half
 * of those at 2000 queries/s.
 */
export const DAMPING = 0.85;

interface ValueIterationOptions {
  /** Largest accepted span of the residual, in units of reward. */
  readonly tolerance: number;
  readonly maxSweeps: number;
}

export interface ValueIterationResult {
  /** Chosen action of every state, shape (stateCount,). */
  readonly choice: Uint32Array;
  /** Relative values, shape (stateCount,). */
  readonly value: Float64Array;
  /** Average reward per decision. */
  readonly gain: number;
  readonly sweeps: number;
  readonly residual: number;
}

/**
 * @param reward per action, shape (actionCount,).
 * @param initialValue start of the iteration, shape (stateCount,); the result does not depend on
 * it, only the number of sweeps does.
 */
export function iterateValues(
  mdp: WorkerMdp,
  reward: Float64Array,
  initialValue: Float64Array,
  options: ValueIterationOptions,
): ValueIterationResult {
  const { rowCount, start, column, probability } = mdp.transitions;
  const rowValue = new Float64Array(rowCount);
  // A state with one action has no choice.
  const choice = mdp.actionStart.slice(0, mdp.stateCount);
  let value = initialValue.slice();
  let next = new Float64Array(mdp.stateCount);
  const sweep = (states: Uint32Array): void =>
    greedyBackup(
      states,
      mdp.phaseCount,
      mdp.actionStart,
      mdp.actionRow,
      mdp.directStart,
      reward,
      mdp.phaseWeight,
      mdp.phaseStart,
      mdp.phaseEnd,
      rowValue,
      next,
      choice,
    );

  let residual = Number.POSITIVE_INFINITY;
  let gain = 0;
  let sweeps = 0;
  while (sweeps < options.maxSweeps && residual > options.tolerance) {
    multiplyRows(rowCount, start, column, probability, value, rowValue);
    sweep(mdp.reached);
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const state of mdp.reached) {
      const change = (next[state] ?? 0) - (value[state] ?? 0);
      low = Math.min(low, change);
      high = Math.max(high, change);
    }
    residual = high - low;
    gain = (high + low) / 2;
    for (const state of mdp.reached) {
      const old = value[state] ?? 0;
      next[state] = old + DAMPING * ((next[state] ?? 0) - gain - old);
    }
    [value, next] = [next, value];
    sweeps++;
  }
  multiplyRows(rowCount, start, column, probability, value, rowValue);
  const values = value.slice();
  sweep(mdp.deciding);
  return { choice, value: values, gain, sweeps, residual };
}
