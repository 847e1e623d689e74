/** The decision problem of a Loki frame. */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { pathTo } from "../../../graph/flat-tasks.ts";
import type { LokiFrame } from "../../../model/frames.ts";
import type { Configuration, PipelineProblem } from "../../../model/pipeline.ts";

type Task = LokiBundle["tasks"][number];

export function pipelineProblem({
  tasks,
  leaves,
  cluster,
  slo,
  policy,
}: LokiFrame): PipelineProblem {
  const childrenOf = (task: number): number[] =>
    tasks.flatMap(({ parent }, index) => (parent === task ? [index] : []));
  return {
    tasks: tasks.map(({ name, parent, entryShare, variants }, index) => ({
      name,
      parent,
      children: childrenOf(index),
      entryShare,
      variants: variants.map((variant) => ({
        name: variant.name,
        accuracy: variant.accuracy,
        fanouts: variant.fanouts,
        configurations: variant.profiles.flatMap((_, pool) => configurationsOf(variant, pool)),
      })),
    })),
    servers: cluster.pools.map(({ workers }) => workers),
    leaves: leaves.map(({ task, weight, accuracyByPath }) => {
      const path = pathTo(tasks, task);
      return {
        task,
        weight,
        path,
        latencyLimitMs: latencyLimitMs({ slo, policy, cluster }, path.length),
        accuracyByPath: (accuracyByPath?.data ?? null) as Float64Array | null,
      };
    }),
    oneBatchPerVariant: policy.oneBatchPerVariant,
  };
}

/**
 * Time that the batches of a path may take together, ms. Every server on the path costs one hop,
 * including the one before the first. Source: Loki §4.1, waiting, and §4.2, communication latency.
 */
export function latencyLimitMs(
  {
    slo,
    policy,
    cluster,
  }: Pick<LokiFrame, "slo"> & {
    readonly cluster: Pick<LokiFrame["cluster"], "communicationLatencyMs">;
    readonly policy: { readonly sloFraction: number };
  },
  serversOnPath: number,
): number {
  return slo.latencyMs * policy.sloFraction - serversOnPath * cluster.communicationLatencyMs;
}

/** The profiled rows, unchanged. */
function configurationsOf({ profiles }: Task["variants"][number], pool: number): Configuration[] {
  const profile = profiles[pool];
  if (profile === undefined || profile === null) return [];
  return Array.from(profile.batches.data, (batch, row) => {
    const latencyMs = profile.latencyMs.data[row] ?? Number.NaN;
    return { pool, batch, latencyMs, throughputQps: (1000 * batch) / latencyMs };
  });
}
