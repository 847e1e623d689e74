/** Start times of workers in profiles. */
import { MAX_MS, MIN_MS } from "stratagem-runtime/internal/bundle/limits";
import type { Cluster, StartTimes, Task } from "./application.ts";
import { profileFor } from "./pool-profiles.ts";

/** Times of the slowest worker; null if no used profile has them. */
export interface MeasuredStarts {
  /** Time until a new worker has run each batch. */
  readonly workerMs: number | null;
  /** The same for a model that a running worker loads. */
  readonly modelMs: number | null;
}

/** Considers every variant in every pool with a profile of it. */
export function measuredStarts({
  cluster,
  tasks,
}: {
  readonly cluster: Pick<Cluster, "pools">;
  readonly tasks: readonly Task[];
}): MeasuredStarts {
  const starts = cluster.pools.flatMap((pool) =>
    tasks.flatMap(({ variants }) => {
      return variants.flatMap((variant) => profileFor(variant, pool)?.start ?? []);
    }),
  );
  if (starts.length === 0) return { workerMs: null, modelMs: null };
  const slowest = (msOf: (start: StartTimes) => number) => asStated(Math.max(...starts.map(msOf)));
  return {
    workerMs: slowest(({ processMs, loadMs, warmMs }) => processMs + loadMs + warmMs),
    modelMs: slowest(({ loadMs, warmMs }) => loadMs + warmMs),
  };
}

/** Limits a time to the range of a spec. */
function asStated(ms: number): number {
  return ms < MIN_MS ? 0 : Math.min(ms, MAX_MS);
}
