/**
 * The cluster of an application as bundles state it, with the hardware its times were measured on.
 */
import type {
  Cluster,
  MeasuredDevice,
  ServingPath,
} from "stratagem-runtime/internal/bundle/schema";
import type { Application, MeasuredServing, Pool } from "../spec/application.ts";
import { profileFor } from "../spec/pool-profiles.ts";

/**
 * Converts the cluster; the serving path has a margin only after planning.
 * @param application whose variants agree, for each pool, on the hardware they were measured on.
 */
export function bundledCluster({ cluster, tasks }: Application): Cluster {
  const { serving, ...rest } = cluster;
  return {
    ...rest,
    ...(serving === undefined ? {} : { serving: bundledServing(serving) }),
    pools: cluster.pools.map(({ provider: _, ...pool }, index) => {
      const measuredOn = measuredOnOf(cluster.pools[index], tasks);
      return measuredOn === undefined ? pool : { ...pool, measuredOn };
    }),
  };
}

function bundledServing(serving: MeasuredServing): ServingPath {
  const { isPlannedWith: _, marginMs = 0, stretch, ...path } = serving;
  return { ...path, marginMs, ...(stretch === undefined ? {} : { stretch }) };
}

function measuredOnOf(
  pool: Pool | undefined,
  tasks: Application["tasks"],
): MeasuredDevice | undefined {
  if (pool === undefined) return undefined;
  for (const { variants } of tasks) {
    for (const variant of variants) {
      const device = profileFor(variant, pool)?.device;
      if (device !== undefined) return device;
    }
  }
  return undefined;
}
