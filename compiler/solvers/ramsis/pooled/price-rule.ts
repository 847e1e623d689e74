/**
 * Which batch to start when a worker is free, by a price on the workers' time.
 *
 * In the fluid limit the best use of K workers at load λ maximises, for each query, accuracy − η · l(m, b) / b, where η is the dual of the
 * workers' time (see `fluid-bound.ts`). Arrivals are random, so the price has to rise with the queue: p = η · exp(θ₀ + θ₁ (queued / 10 ms of
 * arrivals − θ₂)). Among the batches that can be formed and finish within the slack the rule takes the one with the greatest
 * accuracy − p · l / b. Where a batch of more queries than wait would be better by a margin, and can still be formed in time, it waits.
 *
 * Where nothing ends within the slack the first query is given up; and also where what can be done for it is worth less than its time, at the price
 * or at nearly the best use there is for a worker's time, if that is lower. So under more load than the workers can carry, queries whose slack leaves
 * room for small batches only do not make all others late.
 */
import { GIVE_UP, NO_ACTION } from "../../../../runtime/bundle/schema.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";

/** Of the best use of a worker's time; what is worth less than that is not done when time is dear. */
const GOOD_USE = 0.85;

/**
 * Of the best rate. Near capacity, when time is dearer than its best use, only batches with at least this rate are started: every other leaves
 * more queries late than it serves in time.
 */
const GOOD_RATE = 0.98;
const NEAR_CAPACITY = 0.97;

export interface PriceRule {
  /** Logarithm of the price over η, at the pivot. */
  readonly level: number;
  /** Growth of that logarithm per 10 ms of arrivals in the queue. */
  readonly growth: number;
  /** Queue at which the price is that of `level`, in 10 ms of arrivals. */
  readonly pivot: number;
  /** Advantage that a larger batch must have to be waited for, in accuracy. */
  readonly waitMargin: number;
  /** Slack that must be left over after waiting, ms. */
  readonly reserveMs: number;
}

function isNearCapacity({ loadQps, workerCount, bestRatePerMs }: PooledProblem): boolean {
  return loadQps / 1000 >= NEAR_CAPACITY * workerCount * bestRatePerMs;
}

/** What a ms of a worker costs when so many wait. */
function priceAt(
  { loadQps }: PooledProblem,
  { level, growth, pivot }: PriceRule,
  price: number,
  queued: number,
): number {
  return price * Math.exp(level + growth * (queued / (loadQps / 100) - pivot));
}

/** Every batch that can be formed now and ends in time with its accuracy less the price of its time, best first. */
export function worthOf(
  problem: PooledProblem,
  rule: PriceRule,
  price: number,
  queued: number,
  slackMs: number,
): { readonly action: PooledAction; readonly gain: number }[] {
  const costPerMs = priceAt(problem, rule, price, queued);
  return problem.choices
    .filter(({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs)
    .map((action) => {
      const gain = action.accuracy - (costPerMs * action.serviceMs) / action.batch;
      return { action, gain };
    })
    .sort((a, b) => b.gain - a.gain);
}

/** @param price η, accuracy per ms of a worker. @returns index of an action, NO_ACTION to wait, or GIVE_UP. */
export function decide(
  problem: PooledProblem,
  rule: PriceRule,
  price: number,
  queued: number,
  slackMs: number,
): number {
  const arrivalsPerMs = problem.loadQps / 1000;
  const costPerMs = priceAt(problem, rule, price, queued);
  let best = Number.NEGATIVE_INFINITY;
  let chosen: PooledAction | null = null;
  let bestLarger = Number.NEGATIVE_INFINITY;
  for (const choice of problem.choices) {
    const { batch, serviceMs } = choice;
    if (serviceMs > slackMs) continue;
    const gain = choice.accuracy - (costPerMs * serviceMs) / batch;
    if (batch <= queued) {
      if (gain <= best) continue;
      best = gain;
      chosen = choice;
    } else if (gain > bestLarger) {
      const formedMs = (batch - queued) / arrivalsPerMs;
      if (serviceMs + formedMs + rule.reserveMs <= slackMs) bestLarger = gain;
    }
  }
  if (chosen === null) return GIVE_UP;
  const isScarce = isNearCapacity(problem) && costPerMs >= problem.bestUsePerMs;
  if (isScarce && chosen.batch < GOOD_RATE * problem.bestRatePerMs * chosen.serviceMs)
    return GIVE_UP;
  const highestPrice = GOOD_USE * problem.bestUsePerMs;
  const cost = (Math.min(costPerMs, highestPrice) * chosen.serviceMs) / chosen.batch;
  if (chosen.accuracy < cost) return GIVE_UP;
  return bestLarger > best + rule.waitMargin ? NO_ACTION : chosen.index;
}
