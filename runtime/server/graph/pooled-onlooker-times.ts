/** What workers take that are not there, where every pool has a profile of its own. */
import type { Cluster, PoolProfile } from "../../bundle/schema.ts";
import type { Rng } from "../../core/rng.ts";
import { likeliestServiceTimes } from "../../core/service-times.ts";
import { type OnlookerTimes, stretchBeside } from "../shadow-policy/onlooker-times.ts";

interface PooledBundle {
  readonly cluster: Pick<Cluster, "pools" | "serving">;
  readonly tasks: readonly {
    readonly variants: readonly { readonly profiles: readonly (PoolProfile | null)[] }[];
  }[];
}

/** @param loadMs until a worker holds the model that it is assigned. */
export function pooledOnlookerTimes(
  { cluster, tasks }: PooledBundle,
  loadMs: number,
  rng: Rng,
): OnlookerTimes {
  const { contention, stretch } = cluster.serving ?? {};
  const poolByWorker = cluster.pools.flatMap(({ workers }, pool) =>
    new Array<number>(workers).fill(pool),
  );
  const models = tasks
    .flatMap(({ variants }) => variants)
    .map(({ profiles }) =>
      profiles.map((profile) => {
        return profile === null ? null : likeliestServiceTimes(profile.serviceTimes, rng, stretch);
      }),
    );
  return {
    batchMs: ({ worker, variant, rows, busyWorkers }) => {
      // A profile is of one variant.
      const ms = models[variant]?.[poolByWorker[worker] ?? -1]?.nextMs(0, rows) ?? Number.NaN;
      return ms * stretchBeside(contention, busyWorkers);
    },
    loadMs,
    resizeMs: 0,
  };
}
