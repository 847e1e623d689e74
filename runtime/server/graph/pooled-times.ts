/** Profiled times of batches where every pool has its own profile. */
import type { Pool, PoolProfile } from "../../bundle/schema.ts";
import { p99MsOf } from "../measures/service-times.ts";
import type { ServedPipeline } from "./served-pipeline.ts";

interface PooledBundle {
  readonly cluster: { readonly pools: readonly Pool[] };
  readonly tasks: readonly {
    readonly variants: readonly { readonly profiles: readonly (PoolProfile | null)[] }[];
  }[];
}

/** Returns the p99 of a variant, indexed across all tasks, on the pool of a worker. */
export function pooledP99Ms({ cluster, tasks }: PooledBundle): ServedPipeline["p99Ms"] {
  const variants = tasks.flatMap((task) => task.variants);
  const poolByWorker = cluster.pools.flatMap(({ workers }, pool) =>
    new Array<number>(workers).fill(pool),
  );
  return (variant, rows, worker) => {
    const profile = variants[variant]?.profiles[poolByWorker[worker] ?? -1];
    return p99MsOf(profile?.serviceTimes, 0, rows);
  };
}
