/**
 * RAMSIS written down as the paper states it: eq. 2 as four nested sums, dense matrices, policy
 * iteration by linear solves. The oracle of the fast solver; usable up to a few dozen states.
 */
import { lusolve } from "mathjs";
import {
  fastestVariant,
  probabilityInTime,
  serviceAtoms,
  type WorkerProblem,
} from "../../compiler/methods/ramsis/solve/worker-problem.ts";

export interface DenseAction {
  readonly variant: number;
  readonly batch: number;
  /** Expected accuracy of a query, 0 when it is late. */
  readonly accuracy: number;
  /** Probability that the earliest deadline is met. */
  readonly satisfied: number;
  readonly next: Float64Array;
}

export interface DenseMdp {
  readonly actions: readonly (readonly DenseAction[])[];
}

export interface DenseOutcome {
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  readonly perDecision: number;
}

function poissonByLogarithms(count: number, mean: number): number {
  if (count < 0) return 0;
  if (mean === 0) return count === 0 ? 1 : 0;
  let logFactorial = 0;
  for (let i = 2; i <= count; i++) logFactorial += Math.log(i);
  return Math.exp(count * Math.log(mean) - mean - logFactorial);
}

/**
 * Probability of `count` arrivals in an interval of `mean` of them; negative binomial where
 * variance over mean exceeds 1.
 */
function countByLogarithms(count: number, mean: number, dispersion: number): number {
  if (dispersion <= 1) return poissonByLogarithms(count, mean);
  if (count < 0) return 0;
  if (mean === 0) return count === 0 ? 1 : 0;
  const size = mean / (dispersion - 1);
  let logP = -size * Math.log(dispersion);
  for (let i = 0; i < count; i++) {
    logP += Math.log(((size + i) / (i + 1)) * (1 - 1 / dispersion));
  }
  return Math.exp(logP);
}

export function denseMdp(problem: WorkerProblem): DenseMdp {
  const { slackMs, maxQueue } = problem;
  const actions: DenseAction[][] = [];
  for (let queued = 1; queued <= maxQueue + 1; queued++) {
    const slacks = queued <= maxQueue ? [...slackMs] : [-1];
    for (const slack of slacks) {
      actions.push(denseActions(problem, queued, slack));
    }
  }
  return { actions };
}

function denseActions(problem: WorkerProblem, queued: number, slack: number): DenseAction[] {
  const batches =
    problem.partialBatches && queued <= problem.maxQueue
      ? Array.from({ length: queued }, (_, index) => index + 1)
      : [queued];
  return problem.candidates.flatMap((variant) =>
    batches.flatMap((batch) => {
      const satisfied = probabilityInTime(problem, { variant, batch }, slack);
      const isFastest = variant === fastestVariant(problem, queued) && batch === queued;
      if (satisfied < 0.5 && !isFastest) return [];
      const next = new Float64Array(problem.maxQueue * problem.slackMs.length + 1);
      for (const { ms, probability } of serviceAtoms(problem, { variant, batch })) {
        const given =
          batch === queued
            ? nextStates(problem, queued, Math.max(0, slack), ms)
            : nextAfterPart(problem, queued, slack, batch, ms);
        given.forEach((p, state) => {
          next[state] = (next[state] ?? 0) + probability * p;
        });
      }
      const accuracy = satisfied * (problem.accuracy[variant] ?? 0);
      return [{ variant, batch, accuracy, satisfied, next }];
    }),
  );
}

/**
 * P[each phase | (queued, slack)]: the arrivals since the first of `queued` came, by the sums of
 * eq. 2 over interval A.
 */
function phasesGiven(problem: WorkerProblem, queued: number, slack: number): number[] {
  const { workerCount: K, arrivalRatePerMs: rate, slackMs, dispersion } = problem;
  const waited = (slackMs[slackMs.length - 1] ?? 0) - slack;
  const weights = Array.from({ length: K }, (_, q) => {
    if (waited > 0) return countByLogarithms((queued - 1) * K + q, rate * waited, dispersion);
    // In the limit of no time: one clump of arrivals, which is of two at least only where they are
    // over-dispersed.
    if (dispersion <= 1 || queued === 1) return q === 0 ? 1 : 0;
    return (1 - 1 / dispersion) ** q / ((queued - 1) * K + q);
  });
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / total);
}

/** Shortest-queue-first sends fewer queries to a worker whose decision found three or more. */
function rateDuringBatch(problem: WorkerProblem, queued: number): number {
  return queued >= 3
    ? (problem.crowdedRatePerMs ?? problem.arrivalRatePerMs)
    : problem.arrivalRatePerMs;
}

/**
 * Distribution of the next state, shape (maxQueue · slackCount + 1,), by the sums of eq. 2 and eq.
 * 3.
 */
function nextStates(
  problem: WorkerProblem,
  queued: number,
  slack: number,
  tau: number,
): Float64Array {
  const next = new Float64Array(problem.maxQueue * problem.slackMs.length + 1);
  phasesGiven(problem, queued, slack).forEach((weight, q) => {
    const given = nextGivenPhase(problem, q, tau, rateDuringBatch(problem, queued));
    given.forEach((p, state) => {
      next[state] = (next[state] ?? 0) + weight * p;
    });
  });
  return next;
}

/**
 * The same after a batch of `batch` < `queued`: the earliest deadline left is that of uniform point
 * number batch · K.
 */
function nextAfterPart(
  problem: WorkerProblem,
  queued: number,
  slack: number,
  batch: number,
  tau: number,
): Float64Array {
  const { workerCount: K, slackMs, maxQueue: N, dispersion } = problem;
  const slackCount = slackMs.length;
  const next = new Float64Array(N * slackCount + 1);
  const waited = (slackMs[slackCount - 1] ?? 0) - slack;
  const mean = rateDuringBatch(problem, queued) * tau;
  phasesGiven(problem, queued, slack).forEach((weight, q) => {
    const points = (queued - 1) * K + q;
    /** P[query batch + 1 has less than `ms` left at the next decision]. */
    const hasLess = (ms: number): number => {
      const since = ms - (slack - tau);
      if (since <= 0) return 0;
      return since >= waited ? 1 : atLeast(batch * K, points, since / waited);
    };
    let placed = 0;
    for (let more = 0; queued - batch + more <= N; more++) {
      let arrived = 0;
      for (let k = Math.max(0, more * K - q); k < (more + 1) * K - q; k++) {
        arrived += countByLogarithms(k, mean, dispersion);
      }
      placed += arrived;
      let before = 0;
      for (let j = 0; j + 1 < slackCount; j++) {
        const upTo = hasLess(slackMs[j + 1] ?? 0);
        const state = (queued - batch + more - 1) * slackCount + j;
        next[state] = (next[state] ?? 0) + weight * arrived * (upTo - before);
        before = upTo;
      }
    }
    next[N * slackCount] = (next[N * slackCount] ?? 0) + weight * (1 - placed);
  });
  return next;
}

/** P[Binomial(trials, chance) ≥ count], by every term. */
function atLeast(count: number, trials: number, chance: number): number {
  let sum = 0;
  for (let k = count; k <= trials; k++) {
    let term = 1;
    for (let i = 1; i <= k; i++) term *= ((trials - k + i) / i) * chance;
    sum += term * (1 - chance) ** (trials - k);
  }
  return sum;
}

function nextGivenPhase(
  problem: WorkerProblem,
  q: number,
  tau: number,
  rate: number,
): Float64Array {
  const { workerCount: K, slackMs, maxQueue: N, dispersion } = problem;
  const slackCount = slackMs.length;
  const slo = slackMs[slackCount - 1] ?? 0;
  const count = (k: number, ms: number): number => countByLogarithms(k, rate * ms, dispersion);
  const next = new Float64Array(N * slackCount + 1);
  for (let k = 0; k <= K - 1 - q; k++) {
    next[slackCount - 1] = (next[slackCount - 1] ?? 0) + count(k, tau);
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
            rest += count(d, tD);
          }
          next[state] = (next[state] ?? 0) + count(i, tB) * count(k, tC) * rest;
        }
      }
    }
  }
  const sum = next.reduce((a, b) => a + b, 0);
  next[N * slackCount] = Math.max(0, 1 - sum);
  return next;
}

/**
 * Average of `reward` per unit of `time` under a policy, and the relative values: solves V + g·time
 * = reward + P V, V(0) = 0.
 */
function evaluate(
  mdp: DenseMdp,
  choice: readonly number[],
  reward: (action: DenseAction) => number,
  time: (action: DenseAction) => number,
): { gain: number; value: number[] } {
  const count = mdp.actions.length;
  const matrix: number[][] = [];
  const right: number[] = [];
  mdp.actions.forEach((actions, state) => {
    const action = actions[choice[state] ?? 0] as DenseAction;
    const row = Array.from(action.next, (p, to) => (to === state ? 1 : 0) - p);
    matrix.push([...row, time(action)]);
    right.push(reward(action));
  });
  matrix.push(Array.from({ length: count + 1 }, (_, column) => (column === 0 ? 1 : 0)));
  right.push(0);
  const solution = (lusolve(matrix, right) as number[][]).map((row) => row[0] ?? 0);
  return { gain: solution[count] ?? 0, value: solution.slice(0, count) };
}

/**
 * Howard's policy iteration. For per-query, each state takes as long as its batch is large: a
 * semi-Markov process.
 */
export function densePolicy(mdp: DenseMdp, objective: "per-decision" | "per-query"): number[] {
  const isRatio = objective === "per-query";
  const time = (action: DenseAction): number => (isRatio ? action.batch : 1);
  const reward = (action: DenseAction): number => action.accuracy * time(action);
  let choice = mdp.actions.map(() => 0);
  for (let round = 0; round < 100; round++) {
    const { gain, value } = evaluate(mdp, choice, reward, time);
    const improved = mdp.actions.map((actions, state) => {
      const worth = actions.map(
        (action) =>
          reward(action) -
          gain * time(action) +
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

/**
 * Most that a policy can gain per cycle from one wake-up to the next, with reward batch · (accuracy
 * − ratio): 0 for the best ratio, and only for it. Gauss–Seidel sweeps, from 0.
 * @returns null where cycles are too long for `maxSweeps`.
 */
export function gainPerCycle(
  { actions }: DenseMdp,
  idleState: number,
  ratio: number,
  maxSweeps: number,
): number | null {
  const value = actions.map(() => 0);
  for (let sweep = 0; sweep < maxSweeps; sweep++) {
    let change = 0;
    for (const [state, choices] of actions.entries()) {
      const worth = choices.map(({ batch, accuracy, next }) =>
        next.reduce(
          (sum, p, to) => sum + (to === idleState ? 0 : p * (value[to] ?? 0)),
          batch * (accuracy - ratio),
        ),
      );
      const best = Math.max(...worth);
      change = Math.max(change, Math.abs(best - (value[state] ?? 0)));
      value[state] = best;
    }
    if (change < 1e-13) return value[idleState] ?? null;
  }
  return null;
}

export function denseOutcome(mdp: DenseMdp, choice: readonly number[]): DenseOutcome {
  const rate = (reward: (action: DenseAction) => number): number =>
    evaluate(mdp, choice, reward, () => 1).gain;
  const queries = rate((action) => action.batch);
  const satisfied = rate((action) => action.satisfied * action.batch);
  const accuracy = rate((action) => action.accuracy * action.batch);
  return {
    accuracyPerSatisfied: accuracy / satisfied,
    accuracyPerQuery: accuracy / queries,
    violationRate: 1 - satisfied / queries,
    perDecision: rate((action) => action.accuracy),
  };
}
