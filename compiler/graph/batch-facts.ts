/** Describes a batch that a server ran, from a bundle of a task graph. */
import type { Pool, PoolProfile } from "stratagem-runtime/internal/bundle/schema";
import { type BatchFacts, profiledBatch, type RanBatch } from "../model/batch-facts.ts";

interface PooledBundle {
  readonly cluster: { readonly pools: readonly Pool[] };
  readonly tasks: readonly {
    readonly name: string;
    readonly variants: readonly {
      readonly name: string;
      readonly profiles: readonly (PoolProfile | null)[];
    }[];
  }[];
}

/** Returns the facts of a batch: times of the worker's pool, no state, since plans decide. */
export function pooledBatchFacts({ cluster, tasks }: PooledBundle, ran: RanBatch): BatchFacts {
  const task = tasks.find(({ name }) => name === ran.task);
  const variant = task?.variants.find(({ name }) => name === ran.variant);
  const profile = variant?.profiles[poolOf(cluster.pools, ran.worker)];
  const times = profile?.serviceTimes;
  const profiled = times === undefined ? null : profiledBatch(times, 0, ran.batch);
  return { profiled, state: null, rule: null };
}

/**
 * Returns the index of a worker's pool, or −1. Workers are numbered across pools, in pool order.
 */
function poolOf(pools: readonly Pool[], worker: number | null): number {
  if (worker === null) return -1;
  let last = 0;
  return pools.findIndex(({ workers }) => {
    last += workers;
    return worker < last;
  });
}
