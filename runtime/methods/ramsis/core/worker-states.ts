/** Names what a worker may be doing. */
import type { RamsisBundle } from "../../../bundle/schema.ts";

/** What a worker is doing. */
export const DOWN = 0;
export const IDLE = 1;
export const BUSY = 2;

/** Counts the workers of all pools. */
export function workerCountOf({ cluster }: Pick<RamsisBundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/** One state for each worker in the pools of a bundle. */
export function workerStates(bundle: RamsisBundle, ready: boolean): Uint8Array {
  return new Uint8Array(workerCountOf(bundle)).fill(ready ? IDLE : DOWN);
}
