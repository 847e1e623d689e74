/**
 * The batches that the fast server chooses from: those that are the best use of time at some price.
 */

import { negativeBinomialWindow } from "../../../../numeric/negative-binomial.ts";
import { type PmfWindow, poissonWindow } from "../../../../numeric/poisson.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";

export interface ServedAction {
  readonly action: PooledAction;
  readonly batch: number;
  readonly serviceMs: number;
  readonly reward: number;
  /** Mean run time of the batch, ms: its part of the latency of each of its queries. */
  readonly runMs: number;
  /** Time of a step of the whole cluster, ms. */
  readonly stepMs: number;
  /** Arrivals until the next worker is free, unless several batches form one step. */
  readonly gap: readonly GapOutcome[];
}

/** Smallest batches first. */
export function servedActions(problem: PooledProblem): ServedAction[] {
  const { choices, workerCount, slowdown, arrivalsPerMs, dispersion } = problem;
  return choices
    .filter((action) => isNearlyBest(action, choices))
    .map((action) => ({
      action,
      batch: action.batch,
      serviceMs: action.serviceMs,
      reward: action.batch * action.accuracy,
      runMs: action.meanMs / slowdown,
      stepMs: action.meanMs / workerCount,
      gap: gapOutcomes(action.meanMs / workerCount, arrivalsPerMs, dispersion),
    }))
    .sort((a, b) => a.batch - b.batch);
}

/**
 * Accuracy by which an action may be below the line of two others that are possible whenever it is,
 * and cost as much.
 */
const NEARLY_BEST = 0.02;

/**
 * Returns whether some price of time makes an action nearly the best of those that need no more
 * queries and no more slack.
 */
function isNearlyBest(action: PooledAction, choices: readonly PooledAction[]): boolean {
  const costOf = ({ meanMs, batch }: PooledAction): number => meanMs / batch;
  const cost = costOf(action);
  const others = choices.filter(
    ({ batch, serviceMs }) => batch <= action.batch && serviceMs <= action.serviceMs,
  );
  const above = others.filter((other) => other.accuracy > action.accuracy + NEARLY_BEST);
  return others.every((cheaper) => {
    const spare = cost - costOf(cheaper);
    if (spare < 0) return true;
    if (cheaper.accuracy > action.accuracy + NEARLY_BEST) return false;
    return above.every((dearer) => {
      const extra = costOf(dearer) - costOf(cheaper);
      if (extra <= spare) return false;
      const between = cheaper.accuracy + (spare / extra) * (dearer.accuracy - cheaper.accuracy);
      return between <= action.accuracy + NEARLY_BEST;
    });
  });
}

/** Whether a batch takes less time per query than another, or as little and is larger. */
export function isCheaper(one: ServedAction, other: ServedAction): boolean {
  const [own, its] = [one.stepMs * other.batch, other.stepMs * one.batch];
  return own < its * (1 - 1e-9) || (own < its * (1 + 1e-9) && one.batch > other.batch);
}

/** A group of adjacent counts, represented by their mean. */
interface GapOutcome {
  readonly count: number;
  /** Probability. */
  readonly weight: number;
}

/**
 * A group of counts has at least this probability, except the counts 0 and 1: an empty queue is
 * another state.
 */
const LEAST_WEIGHT = 0.16;
const NEGLIGIBLE = 1e-7;

/**
 * @param dispersion variance over mean, at least 1.
 * @returns weights that sum to 1, and the mean of the count.
 */
function gapOutcomes(gapMs: number, arrivalsPerMs: number, dispersion: number): GapOutcome[] {
  const { first, pmf } = counts(arrivalsPerMs * gapMs, dispersion);
  const outcomes: GapOutcome[] = [];
  let [weight, sum] = [0, 0];
  pmf.forEach((probability, index) => {
    const count = first + index;
    weight += probability;
    sum += count * probability;
    const isLast = index === pmf.length - 1;
    if (!isLast && count > 0 && weight < LEAST_WEIGHT) return;
    outcomes.push({ count: sum / weight, weight });
    [weight, sum] = [0, 0];
  });
  return outcomes;
}

function counts(mean: number, dispersion: number): PmfWindow {
  return dispersion > 1
    ? negativeBinomialWindow(mean, dispersion, NEGLIGIBLE)
    : poissonWindow(mean, NEGLIGIBLE);
}
