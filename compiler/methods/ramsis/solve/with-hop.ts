/** Adds the hop to workers on other machines to the times of their batches. */
import type { Application, ProfileRow, RamsisPolicy } from "../../../spec/application.ts";

type RamsisApplication = Application<RamsisPolicy>;

/**
 * A batch occupies its worker from the time it is sent until its answer arrives: every time of a
 * profile is `communicationLatency` longer, so slack, load and guarantees include the hop.
 */
export function withHop(application: RamsisApplication): RamsisApplication {
  const { cluster, tasks } = application;
  const hopMs = cluster.communicationLatencyMs;
  if (hopMs === 0) return application;
  return {
    ...application,
    tasks: tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => {
        const { rows, buckets, ...profile } = variant.profile;
        const own = { ...profile, rows: longer(rows, hopMs) };
        const all = buckets?.map((one) => ({ ...one, rows: longer(one.rows, hopMs) }));
        return { ...variant, profile: all === undefined ? own : { ...own, buckets: all } };
      }),
    })),
  };
}

function longer(rows: readonly ProfileRow[], byMs: number): ProfileRow[] {
  return rows.map((row) => {
    const { latencyMs, quantiles } = row;
    if (quantiles === null) return { ...row, latencyMs: latencyMs + byMs };
    const { p50, p95, p99, mean } = quantiles;
    const later = { p50: p50 + byMs, p95: p95 + byMs, p99: p99 + byMs, mean: mean + byMs };
    return { ...row, latencyMs: latencyMs + byMs, quantiles: { ...quantiles, ...later } };
  });
}
