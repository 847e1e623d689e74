/** Names what a worker may be doing. */
import type { RamsisBundle } from "../../../bundle/schema.ts";

/** What a worker is doing. */
export const DOWN = 0;
export const IDLE = 1;
export const BUSY = 2;

/** One state for each worker in the pools of a bundle. */
export function workerStates({ cluster }: RamsisBundle, ready: boolean): Uint8Array {
  let workerCount = 0;
  for (const pool of cluster.pools) workerCount += pool.workers;
  return new Uint8Array(workerCount).fill(ready ? IDLE : DOWN);
}
