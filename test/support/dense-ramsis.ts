/**
 * RAMSIS written down as the paper states it: eq. 2 as four nested sums, dense matrices, policy iteration by linear solves.
 * The oracle of the fast solver; usable up to a few dozen states.
 */
import { lusolve } from "mathjs";
import {
  fastestVariant,
  serviceTimeMs,
  type WorkerProblem,
} from "../../compiler/solvers/ramsis/worker-problem.ts";

export interface DenseAction {
  readonly variant: number;
  readonly accuracy: number;
  readonly satisfied: boolean;
  readonly next: Float64Array;
}

export interface DenseMdp {
  readonly batch: readonly number[];
  readonly actions: readonly (readonly DenseAction[])[];
}

export interface DenseOutcome {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  readonly perDecision: number;
}

export function poissonByLogarithms(count: number, mean: number): number {
  if (count < 0) return 0;
  if (mean === 0) return count === 0 ? 1 : 0;
  let logFactorial = 0;
  for (let i = 2; i <= count; i++) logFactorial += Math.log(i);
  return Math.exp(count * Math.log(mean) - mean - logFactorial);
}

export function denseMdp(problem: WorkerProblem): DenseMdp {
  const { slackMs, maxQueue } = problem;
  const batch: number[] = [];
  const actions: DenseAction[][] = [];
  for (let queued = 1; queued <= maxQueue + 1; queued++) {
    const slacks = queued <= maxQueue ? [...slackMs] : [-1];
    for (const slack of slacks) {
      const admissible = problem.candidates.filter(
        (variant) =>
          serviceTimeMs(problem, variant, queued) <= slack ||
          variant === fastestVariant(problem, queued),
      );
      batch.push(queued);
      actions.push(
        admissible.map((variant) => {
          const ms = serviceTimeMs(problem, variant, queued);
          return {
            variant,
            accuracy: ms <= slack ? (problem.accuracy[variant] ?? 0) : 0,
            satisfied: ms <= slack,
            next: nextStates(problem, queued, Math.max(0, slack), ms),
          };
        }),
      );
    }
  }
  return { batch, actions };
}

/** Distribution of the next state, shape (maxQueue · slackCount + 1,), by the sums of eq. 2 and eq. 3. */
export function nextStates(
  problem: WorkerProblem,
  queued: number,
  slack: number,
  tau: number,
): Float64Array {
  const { workerCount: K, arrivalRatePerMs: rate, slackMs, maxQueue } = problem;
  const slackCount = slackMs.length;
  const slo = slackMs[slackCount - 1] ?? 0;
  const next = new Float64Array(maxQueue * slackCount + 1);
  const waited = slo - slack;
  let total = 0;
  for (let kA = (queued - 1) * K; kA < queued * K; kA++) {
    const isFirst = kA === (queued - 1) * K;
    const weight = waited === 0 ? Number(isFirst) : poissonByLogarithms(kA, rate * waited);
    total += weight;
    const given = nextGivenPhase(problem, kA % K, tau);
    given.forEach((p, state) => {
      next[state] = (next[state] ?? 0) + weight * p;
    });
  }
  return next.map((p) => p / total);
}

function nextGivenPhase(problem: WorkerProblem, q: number, tau: number): Float64Array {
  const { workerCount: K, arrivalRatePerMs: rate, slackMs, maxQueue: N } = problem;
  const slackCount = slackMs.length;
  const slo = slackMs[slackCount - 1] ?? 0;
  const next = new Float64Array(N * slackCount + 1);
  for (let k = 0; k <= K - 1 - q; k++) {
    next[slackCount - 1] = (next[slackCount - 1] ?? 0) + poissonByLogarithms(k, rate * tau);
  }
  for (let j = 0; j + 1 < slackCount; j++) {
    const clamp = (ms: number): number => Math.min(tau, Math.max(0, ms));
    const cellStart = j === 0 ? 0 : clamp(tau - slo + (slackMs[j] ?? 0));
    const cellEnd = clamp(tau - slo + (slackMs[j + 1] ?? 0));
    const [tB, tC, tD] = [cellStart, cellEnd - cellStart, tau - cellEnd];
    if (tC <= 0) continue;
    for (let n = 1; n <= N; n++) {
      const state = (n - 1) * slackCount + j;
      for (let i = 0; i <= K - 1 - q; i++) {
        for (let k = K - q - i; k <= (n + 1) * K - 1 - q - i; k++) {
          let rest = 0;
          for (let d = Math.max(0, n * K - q - i - k); d <= (n + 1) * K - 1 - q - i - k; d++) {
            rest += poissonByLogarithms(d, rate * tD);
          }
          next[state] =
            (next[state] ?? 0) +
            poissonByLogarithms(i, rate * tB) * poissonByLogarithms(k, rate * tC) * rest;
        }
      }
    }
  }
  const sum = next.reduce((a, b) => a + b, 0);
  next[N * slackCount] = Math.max(0, 1 - sum);
  return next;
}

/** Average of `reward` per unit of `time` under a policy, and the relative values: solves V + g·time = reward + P V, V(0) = 0. */
function evaluate(
  mdp: DenseMdp,
  choice: readonly number[],
  reward: (action: DenseAction, state: number) => number,
  time: (state: number) => number,
): { gain: number; value: number[] } {
  const count = mdp.actions.length;
  const matrix: number[][] = [];
  const right: number[] = [];
  mdp.actions.forEach((actions, state) => {
    const action = actions[choice[state] ?? 0] as DenseAction;
    const row = Array.from(action.next, (p, to) => (to === state ? 1 : 0) - p);
    matrix.push([...row, time(state)]);
    right.push(reward(action, state));
  });
  matrix.push(Array.from({ length: count + 1 }, (_, column) => (column === 0 ? 1 : 0)));
  right.push(0);
  const solution = (lusolve(matrix, right) as number[][]).map((row) => row[0] ?? 0);
  return { gain: solution[count] ?? 0, value: solution.slice(0, count) };
}

/** Howard's policy iteration. For per-query, each state takes as long as its batch is large: a semi-Markov process. */
export function densePolicy(mdp: DenseMdp, objective: "per-decision" | "per-query"): number[] {
  const isRatio = objective === "per-query";
  const time = (state: number): number => (isRatio ? (mdp.batch[state] ?? 0) : 1);
  const reward = (action: DenseAction, state: number): number =>
    action.accuracy * (isRatio ? (mdp.batch[state] ?? 0) : 1);
  let choice = mdp.actions.map(() => 0);
  for (let round = 0; round < 100; round++) {
    const { gain, value } = evaluate(mdp, choice, reward, time);
    const improved = mdp.actions.map((actions, state) => {
      const worth = actions.map(
        (action) =>
          reward(action, state) -
          gain * time(state) +
          action.next.reduce((sum, p, to) => sum + p * (value[to] ?? 0), 0),
      );
      const kept = choice[state] ?? 0;
      const best = worth.indexOf(Math.max(...worth));
      return (worth[best] ?? 0) > (worth[kept] ?? 0) + 1e-11 ? best : kept;
    });
    if (improved.every((action, state) => action === choice[state])) return choice;
    choice = improved;
  }
  throw new Error("policy iteration did not settle");
}

export function denseOutcome(mdp: DenseMdp, choice: readonly number[]): DenseOutcome {
  const batch = (state: number): number => mdp.batch[state] ?? 0;
  const rate = (reward: (action: DenseAction, state: number) => number): number =>
    evaluate(mdp, choice, reward, () => 1).gain;
  const queries = rate((_, state) => batch(state));
  const satisfied = rate((action, state) => (action.satisfied ? batch(state) : 0));
  const accuracy = rate((action, state) => action.accuracy * batch(state));
  return {
    accuracyPerSatisfied: accuracy / satisfied,
    accuracyPerQuery: accuracy / queries,
    violationRate: 1 - satisfied / queries,
    perDecision: rate((action) => action.accuracy),
  };
}
