/**
 * What classes of queries get out of the workers' time in the fluid limit, which no policy exceeds.
 *
 * A batch that holds a query of a class takes at most the SLO of the class, whoever else is in it;
 * so each class by itself has a concave curve of accuracy over time per query, and time is worth
 * most where the curves rise most. Source: the bound of `fluid-bound.ts`, class by class.
 */
import { bucketFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/bucket-views";
import { classFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/class-views";
import type { RamsisFrame } from "../../../model/frames.ts";
import { workerProblem } from "./ramsis.ts";
import { meanServiceMs, probabilityInTime, type WorkerProblem } from "./worker-problem.ts";

/** What a query of a class may cost, ms of a worker, and be worth. */
interface Point {
  readonly cost: number;
  readonly accuracy: number;
}

/** A class and the ways to serve its queries. */
interface ClassCurve {
  readonly share: number;
  readonly points: readonly Point[];
}

/**
 * Lists the ways to serve each class at a load.
 * @param formation whether the time counts that queries of the class take to come until they are a
 * batch; then the result is a forecast and no bound.
 */
export function classCurves(
  frame: RamsisFrame,
  loadQps: number,
  { formation }: { readonly formation: boolean },
): ClassCurve[] {
  return kindsOf(frame).map(({ share, latencyMs, own }) => {
    const problem = workerProblem(own, share * loadQps);
    const gapMs = formation ? 1 / problem.arrivalRatePerMs : 0;
    return { share, points: pointsOf(problem, (batch) => latencyMs - (batch - 1) * gapMs) };
  });
}

/** Each class, or each bucket, by itself. */
function kindsOf(frame: RamsisFrame) {
  const { slo, buckets } = frame;
  const ofBuckets = buckets?.map(({ share }, index) => {
    return { share, latencyMs: slo.latencyMs, own: bucketFrame(frame, index) };
  });
  return (
    ofBuckets ??
    (slo.classes ?? []).map(({ share, latencyMs }, index) => {
      return { share, latencyMs, own: classFrame(frame, index, 1) };
    })
  );
}

function pointsOf(problem: WorkerProblem, slackMsOf: (batch: number) => number): Point[] {
  const points: Point[] = [];
  for (const variant of problem.candidates) {
    const largest = problem.largestBatch[variant] ?? 0;
    for (let batch = 1; batch <= largest; batch++) {
      const inTime = probabilityInTime(problem, { variant, batch }, slackMsOf(batch));
      const accuracy = inTime * (problem.accuracy[variant] ?? 0);
      const cost = meanServiceMs(problem, variant, batch) / batch;
      if (accuracy > 0) points.push({ cost, accuracy });
    }
  }
  return points;
}

/**
 * A stretch of a curve: so much more worth for so much more time, both per query of all classes.
 */
interface Segment {
  readonly cost: number;
  readonly worth: number;
  /** Queries that are served for it, of all; only the first stretch of a curve serves any. */
  readonly served: number;
  /** Of the class's best use of time. */
  readonly index: number;
}

/**
 * The curve of a class from serving nothing on, in stretches of falling slope. @param bonus worth
 * of serving a query, besides its accuracy.
 */
function segmentsOf({ share, points }: ClassCurve, bonus: number, index: number): Segment[] {
  const hull: Point[] = [{ cost: 0, accuracy: 0 }];
  const sorted = points
    .map(({ cost, accuracy }) => ({ cost, accuracy: accuracy + bonus }))
    .sort((a, b) => a.cost - b.cost || b.accuracy - a.accuracy);
  for (const point of sorted) {
    if (point.accuracy <= (hull[hull.length - 1]?.accuracy ?? 0)) continue;
    while (hull.length >= 2) {
      const [before, end] = hull.slice(-2) as [Point, Point];
      const rise = (end.accuracy - before.accuracy) * (point.cost - before.cost);
      if (rise > (point.accuracy - before.accuracy) * (end.cost - before.cost)) break;
      hull.pop();
    }
    hull.push(point);
  }
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
  /** Over all queries, those that are not served counting 0. */
  readonly accuracy: number;
  /** Of the queries. */
  readonly served: number;
  /** Time that each class gets, ms per query of all classes. */
  readonly costByClass: readonly number[];
}

/**
 * The best use of a time per query, ms. @param bonus worth of serving a query, besides its
 * accuracy.
 */
export function allot(curves: readonly ClassCurve[], budgetMs: number, bonus = 0): Allotment {
  const segments = curves.flatMap((curve, index) => segmentsOf(curve, bonus, index));
  // Slopes of a class fall, so its stretches keep their order.
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
 * No policy of any kind that leaves at most a share of the queries unserved, or serves them late,
 * has more accuracy per query. Where there is no such policy, of any policy. An optimum of the
 * linear programme with this constraint mixes two without it, at one worth of serving a query.
 */
export function classBound(frame: RamsisFrame, loadQps: number, maxViolationRate: number): number {
  const curves = classCurves(frame, loadQps, { formation: false });
  const budgetMs = (1000 * workersOf(frame)) / loadQps;
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
export function classCapacityQps(frame: RamsisFrame): number {
  // At a load of 1 nothing is of the load but how much comes.
  const curves = classCurves(frame, 1, { formation: false });
  const costMs = curves.reduce(
    (sum, { share, points }) => sum + share * Math.min(...points.map(({ cost }) => cost)),
    0,
  );
  return (1000 * workersOf(frame)) / costMs;
}

/**
 * Workers for each class in the fluid limit, at least one each: time where it is worth most, and
 * what is left over where most of it is used.
 * @returns null if there are fewer workers than classes.
 */
export function fluidSplit(frame: RamsisFrame, loadQps: number): number[] | null {
  const curves = classCurves(frame, loadQps, { formation: true });
  const workerCount = workersOf(frame);
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

/**
 * Workers that each class, or bucket, keeps busy in the fluid limit, not whole numbers.
 */
export function fluidUse(frame: RamsisFrame, loadQps: number): number[] {
  const curves = classCurves(frame, loadQps, { formation: true });
  const { costByClass } = allot(curves, (1000 * workersOf(frame)) / loadQps, SERVED_WORTH);
  return costByClass.map((costMs) => (costMs * loadQps) / 1000);
}

/** As much as the pooled search takes a violation for. */
const SERVED_WORTH = 20;

function indexOfLargest(values: readonly number[]): number {
  return values.indexOf(Math.max(...values));
}

export function workersOf({ cluster }: RamsisFrame): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}
