/**
 * Allocation of the workers' time to classes of queries in the fluid limit, which no policy
 * exceeds.
 *
 * A batch that holds a query of a class takes at most the SLO of the class, whatever else is in it;
 * so each class by itself has a concave curve of accuracy over time per query, and time is worth
 * most where the curves rise most. Source: the bound of `fluid-bound.ts`, class by class.
 */

import { type Point, pointsOf, upperHull } from "./fluid-bound.ts";
import type { LevelProblem } from "./level-problem.ts";
import { workerProblem } from "./ramsis.ts";

/** A class and the ways to serve its queries. */
interface ClassCurve {
  readonly share: number;
  readonly points: readonly Point[];
}

/**
 * Lists the ways to serve each class at a load.
 * @param formation whether to count the time in which the queries of a batch arrive; then the
 * result is a forecast and no bound.
 */
export function classCurves(
  { kinds }: LevelProblem,
  loadQps: number,
  { formation }: { readonly formation: boolean },
): ClassCurve[] {
  return kinds.map(({ share, latencyMs, alone }) => {
    const problem = workerProblem(alone(1), share * loadQps);
    const gapMs = formation ? 1 / problem.arrivalRatePerMs : 0;
    return { share, points: pointsOf(problem, (batch) => latencyMs - (batch - 1) * gapMs) };
  });
}

/** A segment of a curve: additional worth for additional time, both per query of all classes. */
interface Segment {
  readonly cost: number;
  readonly worth: number;
  /** Share of all queries that it serves; only the first segment of a curve serves any. */
  readonly served: number;
  /** Index of the class's best use of time. */
  readonly index: number;
}

/**
 * The curve of a class from serving nothing on, in segments of falling slope.
 * @param bonus worth of serving a query, in addition to its accuracy.
 */
function segmentsOf({ share, points }: ClassCurve, bonus: number, index: number): Segment[] {
  const worth = points.map(({ cost, accuracy }) => ({ cost, accuracy: accuracy + bonus }));
  const hull = upperHull(worth, [{ cost: 0, accuracy: 0 }]);
  return hull.slice(1).map((point, position) => {
    const before = hull[position] ?? point;
    return {
      cost: share * (point.cost - before.cost),
      worth: share * (point.accuracy - before.accuracy),
      served: position === 0 ? share : 0,
      index,
    };
  });
}

interface Allotment {
  /** Over all queries, unserved ones counting 0. */
  readonly accuracy: number;
  /** Share of the queries. */
  readonly served: number;
  /** Time that each class gets, ms per query of all classes. */
  readonly costByClass: readonly number[];
}

/**
 * The best use of a time per query, ms.
 * @param bonus worth of serving a query, in addition to its accuracy.
 */
export function allot(curves: readonly ClassCurve[], budgetMs: number, bonus = 0): Allotment {
  const segments = curves.flatMap((curve, index) => segmentsOf(curve, bonus, index));
  // Slopes of a class fall, so its segments keep their order.
  segments.sort((a, b) => b.worth * a.cost - a.worth * b.cost || a.index - b.index);
  const costByClass = curves.map(() => 0);
  let left = budgetMs;
  let worth = 0;
  let served = 0;
  for (const segment of segments) {
    const part = segment.cost > left ? left / segment.cost : 1;
    worth += part * segment.worth;
    served += part * segment.served;
    costByClass[segment.index] = (costByClass[segment.index] ?? 0) + part * segment.cost;
    left -= part * segment.cost;
    if (part < 1) break;
  }
  return { accuracy: worth - bonus * served, served, costByClass };
}

/** Serving a query is worth as much as any number of accurate answers. */
const ABOVE_ALL = 1e6;
const TOLERANCE = 1e-12;

/**
 * Upper bound on the accuracy per query of any policy that leaves at most a share of the queries
 * unserved or late. If there is no such policy, of any policy. An optimum of the linear programme
 * with this constraint mixes two without it, at one worth of serving a query.
 */
export function classBound(
  problem: LevelProblem,
  loadQps: number,
  maxViolationRate: number,
): number {
  const curves = classCurves(problem, loadQps, { formation: false });
  const budgetMs = (1000 * problem.workers) / loadQps;
  const least = 1 - maxViolationRate;
  let below = allot(curves, budgetMs);
  let above = allot(curves, budgetMs, ABOVE_ALL);
  if (below.served >= least - TOLERANCE || above.served < least - TOLERANCE) return below.accuracy;
  for (;;) {
    const bonus = (below.accuracy - above.accuracy) / (above.served - below.served);
    const found = allot(curves, budgetMs, bonus);
    const gain = found.accuracy + bonus * found.served - (below.accuracy + bonus * below.served);
    if (gain <= TOLERANCE) {
      return below.accuracy - bonus * (least - below.served);
    }
    if (found.served < least) below = found;
    else above = found;
  }
}

/** Load that the workers carry in time in the best case, in queries per second. */
export function classCapacityQps(problem: LevelProblem): number {
  // At a load of 1 the curves depend on the load only through its rate.
  const curves = classCurves(problem, 1, { formation: false });
  const costMs = curves.reduce(
    (sum, { share, points }) => sum + share * Math.min(...points.map(({ cost }) => cost)),
    0,
  );
  return (1000 * problem.workers) / costMs;
}

/**
 * Workers for each class in the fluid limit, at least one each: time where it is worth most, and
 * spare workers where most of it is used.
 * @returns null if there are fewer workers than classes.
 */
export function fluidSplit(problem: LevelProblem, loadQps: number): number[] | null {
  const curves = classCurves(problem, loadQps, { formation: true });
  const workerCount = problem.workers;
  if (workerCount < curves.length) return null;
  const workers = curves.map(() => 1);
  const worthOf = (index: number, count: number): number => {
    const curve = curves[index];
    if (curve === undefined) return 0;
    const { accuracy, served } = allot([curve], (1000 * count) / loadQps, SERVED_WORTH);
    return accuracy + SERVED_WORTH * served;
  };
  const useOf = (index: number): number => {
    const [cost = 0] = allot(curves.slice(index, index + 1), Number.POSITIVE_INFINITY).costByClass;
    return cost / (workers[index] ?? 1);
  };
  for (let given = workers.length; given < workerCount; given++) {
    const gains = workers.map((count, index) => worthOf(index, count + 1) - worthOf(index, count));
    const best = Math.max(...gains);
    const chosen =
      best > TOLERANCE
        ? gains.indexOf(best)
        : indexOfLargest(workers.map((_, index) => useOf(index)));
    workers[chosen] = (workers[chosen] ?? 0) + 1;
  }
  return workers;
}

/** Workers that each class, or bucket, keeps busy in the fluid limit, fractional. */
export function fluidUse(problem: LevelProblem, loadQps: number): number[] {
  const curves = classCurves(problem, loadQps, { formation: true });
  const { costByClass } = allot(curves, (1000 * problem.workers) / loadQps, SERVED_WORTH);
  return costByClass.map((costMs) => (costMs * loadQps) / 1000);
}

/** Equals the cost of a violation in the pooled search. */
const SERVED_WORTH = 20;

function indexOfLargest(values: readonly number[]): number {
  return values.indexOf(Math.max(...values));
}
