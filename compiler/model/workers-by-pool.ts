/** Adds up the workers that plans use of each pool. */
import type { Cluster } from "stratagem-runtime/internal/bundle/schema";

/** @returns shape (poolCount,). */
export function workersByPool(
  { pools }: Pick<Cluster, "pools">,
  parts: readonly { readonly pool: number; readonly replicas: number }[],
): number[] {
  return pools.map((_, index) =>
    parts.reduce((sum, { pool, replicas }) => sum + (pool === index ? replicas : 0), 0),
  );
}
