/** Checks sizes of a bundle together, each being within its own range. */
import { MAX_POOL_CORES, MAX_REQUESTS, MAX_SEATS, MAX_WORKERS } from "./limits.ts";
import type { Cluster } from "./schema.ts";
import { refuse } from "./table-semantics.ts";

/**
 * Returns the number of workers of all pools. @throws BundleError BUNDLE_SEMANTICS above the
 * maximum.
 */
export function checkWorkers({ pools }: Cluster, most = MAX_WORKERS): number {
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (workers > most) {
    refuse("cluster.pools", `${workers} workers`, `at most ${most} in all pools together`);
  }
  return workers;
}

/** Returns the cores of all workers; a worker without stated cores counts as one. */
export function checkPoolCores({ pools }: Cluster): number {
  const cores = pools.reduce((sum, pool) => sum + pool.workers * (pool.cores ?? 1), 0);
  if (cores > MAX_POOL_CORES) {
    refuse("cluster.pools", `${cores} cores`, `at most ${MAX_POOL_CORES} of all workers together`);
  }
  return cores;
}

/** @param each queries that one worker may run, or that may wait for it. @param what their name. */
export function checkSeats(workers: number, each: number, what: string): void {
  if (workers * each <= MAX_SEATS) return;
  const most = Math.floor(MAX_SEATS / each);
  refuse("cluster.pools", `${workers} workers`, `at most ${most}, with ${what} of ${each}`);
}

/** @param durationMs length of a simulation that a reader may repeat. */
export function checkRequests(loadQps: number, durationMs: number, path: string): void {
  const requests = (loadQps * durationMs) / 1000;
  if (requests <= MAX_REQUESTS) return;
  const most = (1000 * MAX_REQUESTS) / loadQps;
  refuse(path, durationMs, `at most ${most} at ${loadQps} qps: ${MAX_REQUESTS} requests`);
}
