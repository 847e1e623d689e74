import { serviceTimeMs, type WorkerProblem } from "./worker-problem.ts";

/** What one query of a batch costs and is worth. */
interface Point {
  /** Service time over batch size, ms. */
  readonly cost: number;
  readonly accuracy: number;
}

/**
 * Upper bound on the accuracy per query of every policy: maximise Σ f·accuracy over shares f of the queries by (variant, batch), where Σ f ≤ 1,
 * Σ f·λ·l(m,b)/b ≤ K and l(m,b) ≤ SLO. Whoever decides how, workers have no more time than that.
 *
 * A linear programme with two constraints, so the optimum lies on the upper concave hull of (cost, accuracy) at the time there is for a query.
 */
export function fluidBound(problem: WorkerProblem): number {
  const hull = upperHull(pointsOf(problem));
  const budget = problem.workerCount / problem.arrivalRatePerMs;
  let left: Point = { cost: 0, accuracy: 0 };
  for (const right of hull) {
    if (right.cost > budget) {
      const share = (budget - left.cost) / (right.cost - left.cost);
      return left.accuracy + share * (right.accuracy - left.accuracy);
    }
    left = right;
  }
  return left.accuracy;
}

function pointsOf(problem: WorkerProblem): Point[] {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const points: Point[] = [];
  for (const variant of problem.candidates) {
    for (let batch = 1; batch <= problem.maxQueue; batch++) {
      const ms = serviceTimeMs(problem, variant, batch);
      const accuracy = problem.accuracy[variant] ?? 0;
      if (ms <= sloMs) points.push({ cost: ms / batch, accuracy });
    }
  }
  return points.sort((a, b) => a.cost - b.cost || b.accuracy - a.accuracy);
}

/** From the origin, a query not served, to the greatest accuracy; slopes fall. @param points by ascending cost. */
function upperHull(points: readonly Point[]): Point[] {
  const hull: Point[] = [{ cost: 0, accuracy: 0 }];
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
