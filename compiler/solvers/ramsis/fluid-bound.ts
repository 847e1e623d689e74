import { meanServiceMs, probabilityInTime, type WorkerProblem } from "./worker-problem.ts";

/** What one query of a batch costs and is worth. */
interface Point {
  /** Service time over batch size, ms. */
  readonly cost: number;
  readonly accuracy: number;
}

export interface FluidBound {
  readonly accuracy: number;
  /** Dual of the workers' time: accuracy per query and ms of a worker. 0 where there is time to spare. */
  readonly price: number;
}

/**
 * Upper bound on the accuracy per query of every policy that serves every query in time: maximise Σ f·accuracy over shares f of the queries by
 * (variant, batch), where Σ f = 1, Σ f·λ·l(m,b)/b ≤ K and l(m,b) ≤ SLO. Whoever decides how, workers have no more time than that. Beyond
 * capacity no policy serves every query, and the bound is that of serving as many as there is time for. Where service times are random, l is
 * their mean and accuracy counts as often as the SLO is met.
 *
 * A linear programme with two constraints, so the optimum lies on the upper concave hull of (cost, accuracy) at the time there is for a query.
 */
export function fluidBound(problem: WorkerProblem): FluidBound {
  const budget = problem.workerCount / problem.arrivalRatePerMs;
  const points = pointsOf(problem);
  const [cheapest] = points;
  const isWithinCapacity = cheapest !== undefined && cheapest.cost <= budget;
  const hull = upperHull(isWithinCapacity ? [] : [{ cost: 0, accuracy: 0 }], points);
  let left = hull[0] ?? { cost: 0, accuracy: 0 };
  for (const right of hull) {
    if (right.cost > budget) {
      const price = (right.accuracy - left.accuracy) / (right.cost - left.cost);
      return { accuracy: left.accuracy + price * (budget - left.cost), price };
    }
    left = right;
  }
  return { accuracy: left.accuracy, price: 0 };
}

function pointsOf(problem: WorkerProblem): Point[] {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const points: Point[] = [];
  for (const variant of problem.candidates) {
    for (let batch = 1; batch <= problem.maxQueue; batch++) {
      const ms = meanServiceMs(problem, variant, batch);
      const inTime = probabilityInTime(problem, { variant, batch }, sloMs);
      const accuracy = inTime * (problem.accuracy[variant] ?? 0);
      if (accuracy > 0) points.push({ cost: ms / batch, accuracy });
    }
  }
  return points.sort((a, b) => a.cost - b.cost || b.accuracy - a.accuracy);
}

/** Up to the greatest accuracy; slopes fall. @param points by ascending cost. */
function upperHull(start: readonly Point[], points: readonly Point[]): Point[] {
  const hull = [...start];
  for (const point of points) {
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
