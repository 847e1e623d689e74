/**
 * Which batch to start when a worker is free, by a price on the workers' time.
 *
 * In the fluid limit the best use of K workers at load λ maximises, for each query, accuracy − η · l(m, b) / b, where η is the dual of the
 * workers' time (see `fluid-bound.ts`). Arrivals are random, so the price has to rise with the queue: p = η · exp(θ₀ + θ₁ (x − θ₂)), where x is the
 * queue behind the first query in fifteenths of what comes within the SLO. Among the batches that can be formed and finish within the slack the
 * rule takes the one with the greatest accuracy − p · l / b. Where a batch of more queries than wait would be better by a margin, and can still be
 * formed in time, it waits. Where nothing ends within the slack, or what does is worth less than its time, the first query is given up.
 *
 * Nothing here has a unit of time: with all times longer and all loads less by one factor the rule decides the same.
 */
import { GIVE_UP, NO_ACTION } from "../../../../runtime/bundle/schema.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";
import type { ActionWorth } from "./fast-server.ts";

/** Of the best use of a worker's time; what is worth less than that is not done when time is dear. */
const GOOD_USE = 0.85;
/** Parts of the SLO whose arrivals are the unit of the queue. */
const QUEUE_UNITS = 15;

export interface PriceRule {
  /** Accuracy per ms of a worker, above 0: where `level` starts from. */
  readonly price: number;
  /** Logarithm of the price over that, at the pivot. */
  readonly level: number;
  /** Growth of that logarithm per unit of the queue. */
  readonly growth: number;
  /** Queue at which the price is that of `level`, in units. */
  readonly pivot: number;
  /** Advantage that a larger batch must have to be waited for, in accuracy. */
  readonly waitMargin: number;
  /** Slack that must be left over after waiting, of the SLO. */
  readonly reserve: number;
  /**
   * Least rate of a batch that is started when time is dearer than its best use, of the best rate: near capacity every slower
   * one leaves more queries late than it serves in time.
   */
  readonly leastRate: number;
}

/** What a ms of a worker costs when so many wait. */
function priceAt(
  { arrivalsPerMs, sloMs }: PooledProblem,
  { price, level, growth, pivot }: PriceRule,
  queued: number,
): number {
  const unit = 1 + (arrivalsPerMs * sloMs) / QUEUE_UNITS;
  return price * Math.exp(level + growth * ((queued - 1) / unit - pivot));
}

/** Every batch that can be formed now and ends in time with its accuracy less the price of its time, best first. */
export function priceWorths(
  problem: PooledProblem,
  rule: PriceRule,
  queued: number,
  slackMs: number,
): ActionWorth[] {
  const costPerMs = priceAt(problem, rule, queued);
  return problem.choices
    .filter(({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs)
    .map((action) => {
      const worth = action.accuracy - (costPerMs * action.meanMs) / action.batch;
      return { action, worth };
    })
    .sort((a, b) => b.worth - a.worth);
}

/** @returns index of an action, NO_ACTION to wait, or GIVE_UP. */
export function decideByPrice(
  problem: PooledProblem,
  rule: PriceRule,
  queued: number,
  slackMs: number,
): number {
  const costPerMs = priceAt(problem, rule, queued);
  let best = Number.NEGATIVE_INFINITY;
  let chosen: PooledAction | null = null;
  let bestLarger = Number.NEGATIVE_INFINITY;
  for (const choice of problem.choices) {
    const { batch, serviceMs } = choice;
    if (serviceMs > slackMs) continue;
    const gain = choice.accuracy - (costPerMs * choice.meanMs) / batch;
    if (batch <= queued) {
      if (gain <= best) continue;
      best = gain;
      chosen = choice;
    } else if (gain > bestLarger) {
      const formedMs = (batch - queued) / problem.arrivalsPerMs;
      const leftMs = slackMs - serviceMs - formedMs;
      if (leftMs >= rule.reserve * problem.sloMs) bestLarger = gain;
    }
  }
  if (chosen === null) return GIVE_UP;
  const isScarce = costPerMs >= problem.bestUsePerMs;
  if (isScarce && chosen.batch < rule.leastRate * problem.bestRatePerMs * chosen.meanMs) {
    return GIVE_UP;
  }
  const highestPrice = GOOD_USE * problem.bestUsePerMs;
  const cost = (Math.min(costPerMs, highestPrice) * chosen.meanMs) / chosen.batch;
  if (chosen.accuracy < cost) return GIVE_UP;
  return slackMs > 0 && bestLarger > best + rule.waitMargin ? NO_ACTION : chosen.index;
}
