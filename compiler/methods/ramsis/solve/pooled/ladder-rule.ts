/**
 * The optimum of the fluid limit as a rule: two batches, one more accurate and the other faster,
 * each waited for until it is full.
 *
 * In the fluid limit of many workers queries come evenly, a batch of b takes (b − 1) / λ to form,
 * and the best use of the workers is a mixture of at most two batches that can be formed and end
 * within the SLO: the optimum of the linear programme of `fluid-bound.ts` over these. The ladder
 * takes the upper rung while the first query has the slack for it, and the lower one when it has
 * waited too long for that, as it has if the workers are busy: so the mixture follows the load by
 * itself. A query that is too late even for the lower rung is served by a batch that takes no more
 * time per query than that, if there is one, and dropped otherwise; a short queue is served with
 * the queries that are there.
 */
import { GIVE_UP, NO_ACTION } from "stratagem-runtime/internal/bundle/schema";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";
import type { Decide } from "./pooled-simulation.ts";

/** Factors on the formation time of a batch, for the upper rung. */
const FORMATION_FACTORS = [1, 1.5, 2];
/** Least time by which the lower rung is faster, relative to the SLO. */
const QUICKER_BY = [0.02, 0.06, 0.12, 0.25];

/** Pairs of batches worth climbing, each separately. */
export function ladders(problem: PooledProblem): PooledAction[][] {
  const found = new Map<string, PooledAction[]>();
  for (const factor of FORMATION_FACTORS) {
    const optimum = fluidOptimum(problem, formed(problem, factor), null);
    for (const upper of optimum.flatMap((best) => [best, shorter(problem, best)])) {
      for (const share of QUICKER_BY) {
        const rungs = [upper, ...fluidOptimum(problem, quicker(problem, upper, share), upper)];
        const last = rungs[rungs.length - 1] ?? upper;
        const [third] = fluidOptimum(problem, quicker(problem, last, share), last);
        const isRelief = third !== undefined && costOf(third) < costOf(last);
        for (const ladder of isRelief ? [rungs, [...rungs, third]] : [rungs]) {
          found.set(ladder.map(({ index }) => index).join(" "), ladder);
        }
      }
    }
  }
  return [...found.values()];
}

function quicker(problem: PooledProblem, than: PooledAction, share: number): PooledAction[] {
  const withinMs = than.serviceMs - share * problem.sloMs;
  return formed(problem, 1).filter(({ serviceMs }) => serviceMs <= withinMs);
}

/** Worker time, ms per query. */
function costOf({ meanMs, batch }: PooledAction): number {
  return meanMs / batch;
}

function formed({ choices, arrivalsPerMs, sloMs }: PooledProblem, factor: number): PooledAction[] {
  return choices.filter(
    ({ batch, serviceMs }) => serviceMs + (factor * (batch - 1)) / arrivalsPerMs <= sloMs,
  );
}

/** @param rungs more accurate first. */
export function climb({ choices }: PooledProblem, rungs: readonly PooledAction[]): Decide {
  const largestOf = (variant: number, queued: number, slackMs: number): PooledAction | undefined =>
    choices.findLast(
      (action) =>
        action.variant === variant && action.batch <= queued && action.serviceMs <= slackMs,
    );
  const last = rungs[rungs.length - 1];
  const efficient = choices
    .filter((action) => last !== undefined && costOf(action) <= costOf(last))
    .sort((a, b) => b.accuracy - a.accuracy || costOf(a) - costOf(b));
  return (queued, slackMs) => {
    for (const rung of rungs) {
      if (rung.serviceMs > slackMs) continue;
      if (queued < rung.batch) return slackMs > 0 ? NO_ACTION : GIVE_UP;
      return (largestOf(rung.variant, queued, slackMs) ?? rung).index;
    }
    const isPossible = ({ batch, serviceMs }: PooledAction): boolean =>
      batch <= queued && serviceMs <= slackMs;
    if (last !== undefined && queued >= last.batch) {
      return efficient.find(isPossible)?.index ?? GIVE_UP;
    }
    const all = choices.findLast((action) => action.batch === queued && isPossible(action));
    return (all ?? choices.find(isPossible))?.index ?? GIVE_UP;
  };
}

/**
 * The mixture that the programme takes: one batch, or two, the more expensive first.
 * @param given the more expensive one, if it is already chosen; then only the other is returned.
 * Beyond capacity the fastest one.
 */
function fluidOptimum(
  { arrivalsPerMs, workerCount }: PooledProblem,
  choices: readonly PooledAction[],
  given: PooledAction | null,
): PooledAction[] {
  const budgetMs = workerCount / arrivalsPerMs;
  const uppers = given === null ? choices.filter((action) => costOf(action) > budgetMs) : [given];
  let best: PooledAction[] = [];
  let bestAccuracy = Number.NEGATIVE_INFINITY;
  for (const lower of choices) {
    const spare = budgetMs - costOf(lower);
    if (spare < 0) continue;
    if (lower.accuracy > bestAccuracy) [best, bestAccuracy] = [[lower], lower.accuracy];
    for (const upper of uppers) {
      const extra = costOf(upper) - costOf(lower);
      const share = extra > 0 ? Math.min(1, spare / extra) : 1;
      const accuracy = lower.accuracy + share * (upper.accuracy - lower.accuracy);
      const pair = given === null ? [upper, lower] : [lower];
      if (accuracy > bestAccuracy) [best, bestAccuracy] = [pair, accuracy];
    }
  }
  if (best.length > 0) return best;
  const quickest = [...choices].sort((a, b) => costOf(a) - costOf(b))[0];
  return quickest === undefined ? [] : [quickest];
}

/** The same variant with one query less. */
function shorter({ choices }: PooledProblem, rung: PooledAction): PooledAction {
  const less = choices.find(
    ({ variant, batch }) => variant === rung.variant && batch === rung.batch - 1,
  );
  return less ?? rung;
}
