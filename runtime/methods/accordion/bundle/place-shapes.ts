/** Shapes: the places of each pool that a query may have, in the order of the bundle's rows. */
import type { Pool } from "../../../bundle/schema.ts";

/**
 * Returns the execution places of each pool: the workers of the pools in their order, up to a
 * total.
 */
export function placesByPool(
  pools: readonly Pick<Pool, "workers">[],
  executionPlaces: number,
): number[] {
  let left = executionPlaces;
  return pools.map(({ workers }) => {
    const used = Math.min(workers, left);
    left -= used;
    return used;
  });
}

/**
 * Yields every shape of at most `maxDepth` places: by ascending sum, then lexicographically
 * descending. There can be very many, so they are made one by one.
 *
 * @param places places of each pool.
 */
export function* placeShapes(places: readonly number[], maxDepth: number): Generator<number[]> {
  const total = places.reduce((sum, count) => sum + count, 0);
  for (let size = 1; size <= Math.min(maxDepth, total); size++) {
    let shape: number[] | null = filled(places, new Array<number>(places.length).fill(0), 0, size);
    while (shape !== null) {
      yield shape;
      shape = nextShape(places, shape);
    }
  }
}

/** Returns the next smaller shape of the same sum; null after the last. */
function nextShape(places: readonly number[], shape: readonly number[]): number[] | null {
  // A place can only move to a later pool with capacity: from the last pool for which there is one.
  let room = 0;
  let behind = 0;
  for (let pool = shape.length - 1; pool >= 0; pool--) {
    const count = shape[pool] ?? 0;
    if (count > 0 && room > 0)
      return filled(places, shape.with(pool, count - 1), pool + 1, behind + 1);
    room += (places[pool] ?? 0) - count;
    behind += count;
  }
  return null;
}

/**
 * Returns the shape up to a pool, and so many places in the pools from there on, the earlier ones
 * first.
 */
function filled(
  places: readonly number[],
  shape: readonly number[],
  fromPool: number,
  count: number,
): number[] {
  let left = count;
  return shape.map((kept, pool) => {
    if (pool < fromPool) return kept;
    const taken = Math.min(left, places[pool] ?? 0);
    left -= taken;
    return taken;
  });
}
