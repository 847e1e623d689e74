/** Times and SLOs that planners use: times stretched by contention, and SLOs less a margin. */
import type {
  Cluster,
  PoolProfile,
  ServiceTimes,
  Slo,
  Table,
} from "stratagem-runtime/internal/bundle/schema";

export function stretchedTable(table: Table, stretch: number): Table {
  const data = Float64Array.from(table.data, (ms) => ms * stretch);
  return { dtype: "float64", shape: table.shape, data };
}

/** Returns times and their distribution, multiplied by a stretch. */
export function stretchedTimes(times: ServiceTimes, stretch: number): ServiceTimes {
  return {
    ...stretchedQuantiles(times, stretch),
    decisionMs: stretchedTable(times.decisionMs, stretch),
  };
}

/** Returns the profile of a variant on a pool, with its times stretched. */
export function stretchedProfile(profile: PoolProfile | null, stretch: number): PoolProfile | null {
  if (profile === null || stretch === 1) return profile;
  const { latencyMs, serviceTimes } = profile;
  return {
    ...profile,
    latencyMs: stretchedTable(latencyMs, stretch),
    serviceTimes: stretchedTimes(serviceTimes, stretch),
  };
}

/** Returns the same decision times with stretched quantiles. */
export function stretchedQuantiles(times: ServiceTimes, stretch: number): ServiceTimes {
  const { quantiles } = times;
  if (quantiles === null) return times;
  const { p50Ms, p95Ms, p99Ms, meanMs } = quantiles;
  return {
    ...times,
    quantiles: {
      p50Ms: stretchedTable(p50Ms, stretch),
      p95Ms: stretchedTable(p95Ms, stretch),
      p99Ms: stretchedTable(p99Ms, stretch),
      meanMs: stretchedTable(meanMs, stretch),
    },
  };
}

/**
 * Returns an SLO, its targets and the SLOs of its classes, less the margin for the serving path.
 */
export function sloLess<S extends Pick<Slo, "latencyMs" | "classes" | "p50Ms" | "p95Ms">>(
  slo: S,
  marginMs: number,
): S {
  if (marginMs === 0) return slo;
  const { classes, p50Ms, p95Ms } = slo;
  // The margin covers rare delays, so a low target keeps half of its time.
  const lessTarget = (ms: number): number => Math.max(ms / 2, ms - marginMs);
  const less = {
    ...slo,
    latencyMs: slo.latencyMs - marginMs,
    ...(p50Ms !== undefined && { p50Ms: lessTarget(p50Ms) }),
    ...(p95Ms !== undefined && { p95Ms: lessTarget(p95Ms) }),
  };
  if (classes === undefined) return less;
  return {
    ...less,
    classes: classes.map((one) => ({ ...one, latencyMs: one.latencyMs - marginMs })),
  };
}

/**
 * Returns a frame for planners, which know models alone: no serving path, and the SLO less the
 * margin.
 */
export function withoutPath<F extends { readonly slo: Slo; readonly cluster: Cluster }>(
  frame: F,
): F {
  const { serving, ...cluster } = frame.cluster;
  if (serving === undefined) return frame;
  return { ...frame, slo: sloLess(frame.slo, serving.marginMs), cluster };
}
