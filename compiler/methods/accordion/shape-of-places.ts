/** The shape that places make: how many of each pool. */
import type { Pool, Table } from "stratagem-runtime/internal/bundle/schema";

/**
 * @param shapes as the bundle has them. @param places indices of workers, over all pools.
 * @returns index of the shape; −1 where there is none.
 */
export function shapeOf(
  { data, shape }: Table,
  pools: readonly Pool[],
  places: readonly number[],
): number {
  let first = 0;
  const counts = pools.map(({ workers }) => {
    const end = first + workers;
    const count = places.filter((place) => place >= first && place < end).length;
    first = end;
    return count;
  });
  const [shapeCount = 0, poolCount = 0] = shape;
  for (let index = 0; index < shapeCount; index++) {
    if (counts.every((count, pool) => data[index * poolCount + pool] === count)) return index;
  }
  return -1;
}
