/** Bounds the accuracy of every policy from above, by a fluid limit. */
import { meanServiceMs, probabilityInTime, type WorkerProblem } from "./worker-problem.ts";

/** Cost and worth of one query, by its batch. */
export interface Point {
  /** Service time over batch size, ms. */
  readonly cost: number;
  readonly accuracy: number;
}

export interface FluidBound {
  readonly accuracy: number;
  /** Dual of the workers' time: accuracy per query and ms of a worker. 0 if there is spare time. */
  readonly price: number;
}

/**
 * Upper bound on the accuracy per query of every policy that violates the SLO of at most ε of its
 * queries, by dropping them or otherwise: over rates x of batches by (variant, batch) maximise Σ
 * x·b·accuracy / λ, where Σ x·l(m,b) ≤ K, (1 − ε)·λ ≤ Σ x·b ≤ λ and l(m,b) ≤ SLO. No decision gives
 * workers more time than that, and a late query only costs time. With ε = 0 it is the bound of
 * policies that serve every query in time. If no policy keeps ε at the load, it is the bound with
 * any number of drops. If service times are random, l is their mean and accuracy counts as often as
 * the SLO is met.
 *
 * Let h be the upper concave hull of (cost, accuracy), cost being l / b: a policy that serves a
 * share y of the queries has at most y · h(K / (λ y)). Serving fewer is better only below the cost
 * at which accuracy per time is greatest, where the line from the origin touches the hull.
 *
 * @param maxViolationRate ε, in [0, 1].
 */
export function fluidBound(problem: WorkerProblem, maxViolationRate: number): FluidBound {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const hull = upperHull(pointsOf(problem, () => sloMs));
  const [cheapest] = hull;
  if (cheapest === undefined) return { accuracy: 0, price: 0 };
  const budget = problem.workerCount / problem.arrivalRatePerMs;
  const efficient = hull.reduce((best, point) =>
    point.accuracy * best.cost > best.accuracy * point.cost ? point : best,
  );
  const isKept = cheapest.cost * (1 - maxViolationRate) <= budget;
  const least = isKept ? 1 - maxViolationRate : 0;
  const served = Math.min(1, Math.max(least, budget / efficient.cost));
  if (served * efficient.cost <= budget && served < 1) {
    const price = efficient.accuracy / efficient.cost;
    return { accuracy: budget * price, price };
  }
  const { accuracy, price } = onHull(hull, budget / served);
  return { accuracy: served * accuracy, price };
}

/** Height and slope of the hull at a cost that is not below its first. */
function onHull([first, ...rest]: readonly Point[], cost: number): FluidBound {
  let left = first ?? { cost: 0, accuracy: 0 };
  for (const right of rest) {
    if (right.cost > cost) {
      const price = (right.accuracy - left.accuracy) / (right.cost - left.cost);
      return { accuracy: left.accuracy + price * (cost - left.cost), price };
    }
    left = right;
  }
  return { accuracy: left.accuracy, price: 0 };
}

/**
 * Lists the cost and worth of queries of each batch.
 * @param slackMsOf when a batch starts.
 */
export function pointsOf(problem: WorkerProblem, slackMsOf: (batch: number) => number): Point[] {
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
 * Up to the greatest accuracy; slopes fall.
 * @param from the first point of the hull, if known.
 */
export function upperHull(points: readonly Point[], from: readonly Point[] = []): Point[] {
  const hull = [...from];
  const ascending = [...points].sort((a, b) => a.cost - b.cost || b.accuracy - a.accuracy);
  for (const point of ascending) {
    const last = hull[hull.length - 1];
    if (last !== undefined && point.accuracy <= last.accuracy) continue;
    while (hull.length >= 2) {
      const [before, end] = hull.slice(-2) as [Point, Point];
      const rise = (end.accuracy - before.accuracy) * (point.cost - before.cost);
      if (rise > (point.accuracy - before.accuracy) * (end.cost - before.cost)) break;
      hull.pop();
    }
    hull.push(point);
  }
  return hull;
}
