/** What profiles say of the time that workers take to start. */
import { MAX_MS, MIN_MS } from "stratagem-runtime/internal/bundle/limits";
import type { Cluster, StartTimes, Task } from "./application.ts";
import { profileFor } from "./pool-profiles.ts";

/** Of the slowest that may be started; null where no profile that is used says it. */
export interface MeasuredStarts {
  /** Of a new worker, until it has run each batch. */
  readonly workerMs: number | null;
  /** Of a model that a running worker loads, likewise. */
  readonly modelMs: number | null;
}

/** Of every variant in every pool that has a profile of it. */
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

/** A time that a spec could have said. */
function asStated(ms: number): number {
  return ms < MIN_MS ? 0 : Math.min(ms, MAX_MS);
}
