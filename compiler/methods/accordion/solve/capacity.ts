/** Capacity: an upper bound on the load of any schedule. */

import { placesByPool } from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import type { AccordionFrame } from "../../../model/frames.ts";
import { itemsOf, viewOf } from "../../../model/table-view.ts";
import { minimise } from "../../../numeric/nelder-mead.ts";

/** Evaluations for each pool; any price gives a bound, better ones a lower bound. */
const EVALUATIONS = 200;

/** Occupation of one shape by queries of one model. */
interface Occupation {
  /** Places of each pool. */
  readonly places: readonly number[];
  /** Time of a query of the mean batch. */
  readonly ms: number;
}

/**
 * Capacity in queries per second, models uniform and of the mean batch. A place of pool k has a
 * price p_k for each ms; a query takes the shape that is cheapest for its model. All places
 * together earn no more than their number times their prices, so the load is at most Σ n_k p_k over
 * the mean cost of a query: the dual of the linear programme that divides places among queries.
 * The price cancels with one pool, and if no pipeline is more than n times as fast on n places,
 * every query runs on one place.
 */
export function capacityQps(frame: AccordionFrame): number {
  const { cluster, policy } = frame;
  const places = placesByPool(cluster.pools, policy.executionPlaces);
  const models = occupations(frame);
  const boundAt = (prices: readonly number[]): number => {
    const costs = models.map((shapes) => Math.min(...shapes.map((shape) => cost(shape, prices))));
    const meanCost = costs.reduce((sum, one) => sum + one, 0) / costs.length;
    return (1000 * earned(places, prices)) / meanCost;
  };
  const alike = places.map(() => 1);
  if (places.filter((count) => count > 0).length === 1) return boundAt(alike);
  // Only ratios of prices matter, and they are above 0: uses their logarithms, the first of them 0.
  const steps = places.slice(1).map(() => 1);
  const { value } = minimise(
    (logs) => boundAt([1, ...logs.map(Math.exp)]),
    places.slice(1).map(() => 0),
    steps,
    EVALUATIONS * places.length,
  );
  return value;
}

/** Indexed by model. */
function occupations({ tasks, shapes, policy }: AccordionFrame): Occupation[][] {
  const [shapeCount = 0] = shapes.shape;
  const placesByPool = viewOf(shapes);
  const { maxBatch, meanBatch } = policy;
  const batch = Math.min(maxBatch, meanBatch);
  const below = Math.floor(batch);
  return tasks.flatMap(({ variants }) =>
    variants.map(({ latencyMs }) => {
      const times = viewOf(latencyMs);
      return Array.from({ length: shapeCount }, (_, shape): Occupation => {
        const at = (instances: number): number =>
          times.get(shape, Math.min(maxBatch, instances) - 1);
        // The table is linear in the batch, so a mean between two rows lies between their times;
        // exactly on a row, only that row, to avoid Infinity times 0.
        const share = batch - below;
        return {
          places: itemsOf(placesByPool.pick(shape, null)),
          ms: share === 0 ? at(below) : at(below) + share * (at(below + 1) - at(below)),
        };
      }).filter(({ ms }) => Number.isFinite(ms));
    }),
  );
}

function cost({ places, ms }: Occupation, prices: readonly number[]): number {
  return ms * earned(places, prices);
}

function earned(places: readonly number[], prices: readonly number[]): number {
  return places.reduce((sum, count, pool) => sum + count * (prices[pool] ?? 0), 0);
}
