/**
 * The most accuracy per query with an expected violation rate of at most a ceiling: a constrained
 * Markov decision process.
 *
 * A price μ on violations turns it into the per-query objective with worth accuracy · satisfied − μ
 * · violated (E. Altman, "Constrained Markov Decision Processes", 1999, ch. 3 and 12). As μ grows,
 * the optimal policies walk along the upper hull of (violation rate, accuracy); the next price is
 * the slope between a policy on either side of the ceiling, until no policy lies above the line
 * between them. Both are then optimal at that price, and so is every mixture that draws one of them
 * independently at each decision: the share is found on the mixture's own chain, since violations
 * are not linear in it.
 */
import type { PolicyPart } from "./guarantees.ts";
import {
  evaluatePolicy,
  maximiseRatio,
  queryWorth,
  type RatioStart,
  type SolvedPolicy,
  VALUE_TOLERANCE,
} from "./objective.ts";
import type { WorkerMdp } from "./worker-mdp.ts";

/**
 * Distance below the ceiling that a mixture may keep, and must keep so that rounding cannot lift it
 * above.
 */
const MARGIN = 1e-9;
/**
 * Each price visits a policy of the hull not seen before; beyond this many the best pair so far is
 * mixed.
 */
const MAX_PRICES = 60;
/** A policy above the line by less than this many tolerances of value iteration counts as on it. */
const SLACK_TOLERANCES = 10;
const MAX_SHARES = 60;

/**
 * @param latencyPrice in accuracy per SLO of mean latency: accuracy here means accuracy less this
 * price.
 * @returns if no policy meets the ceiling, the one with the fewest violations.
 */
export function solveWithin(mdp: WorkerMdp, ceiling: number, latencyPrice = 0): SolvedPolicy {
  const margin = Math.min(MARGIN, ceiling / 1000);
  const target = ceiling - margin;
  const objective: Objective = { mdp, latencyPrice, queryWorth: queryWorth(mdp, latencyPrice) };
  const free = priced(objective, 0, null);
  if (free.solved.guarantees.violationRate <= target) return free.solved;
  const safest = priced(objective, Number.POSITIVE_INFINITY, free);
  const effort = { iterations: free.solved.iterations + safest.solved.iterations };
  if (safest.solved.guarantees.violationRate > target) return { ...safest.solved, ...effort };
  const { above, below, iterations } = neighbours(objective, free, safest, target);
  const solved = mix(mdp, above.solved, below.solved, target, margin);
  return { ...solved, iterations: effort.iterations + iterations };
}

interface Objective {
  readonly mdp: WorkerMdp;
  readonly latencyPrice: number;
  /** Value of each action, shape (actionCount,). */
  readonly queryWorth: Float64Array;
}

interface Priced {
  readonly solved: SolvedPolicy;
  /** Accuracy per query less the price of latency. */
  readonly queryWorth: number;
  /**
   * The weight of accuracy in the worth that the table was solved for; violations have the rest to
   * 1, so that a tolerance means the same at every price.
   */
  readonly ofAccuracy: number;
  readonly end: RatioStart;
}

/**
 * The policy with the most worth at a price.
 * @param price accuracy that a violation costs, ∞ if nothing else counts.
 * @param near start of the search.
 */
function priced(objective: Objective, price: number, near: Priced | null): Priced {
  const { mdp, latencyPrice } = objective;
  const ofAccuracy = price === Number.POSITIVE_INFINITY ? 0 : 1 / (1 + price);
  const worthOf = (accuracy: number, violated: number): number =>
    ofAccuracy * accuracy - (1 - ofAccuracy) * violated;
  const worth = objective.queryWorth.map((accuracy, action) =>
    worthOf(accuracy, 1 - (mdp.actionSatisfied[action] ?? 0)),
  );
  const { solved, end } = maximiseRatio(mdp, worth, near && startFrom(near, ofAccuracy, worthOf));
  const { accuracyPerQuery, meanLatency } = solved.guarantees;
  return { solved, queryWorth: accuracyPerQuery - latencyPrice * meanLatency, ofAccuracy, end };
}

/** The values and the ratio of a policy in the units of another price. */
function startFrom(
  { solved, queryWorth: accuracy, ofAccuracy, end }: Priced,
  wanted: number,
  worthOf: (accuracy: number, violated: number) => number,
): RatioStart {
  const { violationRate } = solved.guarantees;
  const scale = wanted > 0 && ofAccuracy > 0 ? wanted / ofAccuracy : 1;
  return {
    value: end.value.map((value) => scale * value),
    mass: end.mass,
    ratio: worthOf(accuracy, violationRate),
  };
}

/** Two policies on either side of the ceiling with no other one above the line between them. */
function neighbours(
  objective: Objective,
  free: Priced,
  safest: Priced,
  target: number,
): { above: Priced; below: Priced; iterations: number } {
  let above = free;
  let below = safest;
  let iterations = 0;
  for (let count = 0; count < MAX_PRICES; count++) {
    const [a, b] = [above.solved.guarantees, below.solved.guarantees];
    const price = (above.queryWorth - below.queryWorth) / (a.violationRate - b.violationRate);
    if (!(price > 0)) break;
    const next = priced(objective, price, above);
    iterations += next.solved.iterations;
    const n = next.solved.guarantees;
    const lift = next.queryWorth - above.queryWorth - price * (n.violationRate - a.violationRate);
    if (lift <= SLACK_TOLERANCES * VALUE_TOLERANCE * (1 + price)) break;
    if (n.violationRate > target) above = next;
    else below = next;
  }
  return { above, below, iterations };
}

/**
 * The mixture of two policies whose violation rate is within [target − margin, target], by regula
 * falsi (Illinois) on the share of the first.
 */
function mix(
  mdp: WorkerMdp,
  above: SolvedPolicy,
  below: SolvedPolicy,
  target: number,
  margin: number,
): SolvedPolicy {
  let [low, high] = [0, 1];
  let lowExcess = below.guarantees.violationRate - target;
  let highExcess = above.guarantees.violationRate - target;
  let best = below;
  let lastSide = 0;
  let isClose = lowExcess >= -margin;
  for (let count = 0; count < MAX_SHARES && !isClose; count++) {
    const share = (low * highExcess - high * lowExcess) / (highExcess - lowExcess);
    if (!(share > low && share < high)) break;
    const second: PolicyPart = { share, choice: above.choice };
    const first = { share: 1 - share, choice: below.choice };
    const guarantees = evaluatePolicy(mdp, [first, second]);
    const excess = guarantees.violationRate - target;
    const side = excess > 0 ? 1 : -1;
    if (side > 0) {
      [high, highExcess] = [share, excess];
      if (lastSide === side) lowExcess /= 2;
    } else {
      [low, lowExcess] = [share, excess];
      if (lastSide === side) highExcess /= 2;
      best = { ...below, mixture: second, guarantees };
    }
    lastSide = side;
    isClose = excess <= 0 && excess >= -margin;
  }
  return best;
}
