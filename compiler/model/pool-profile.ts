/** Measurements of a variant on the hardware of a pool, as bundles state them. */
import type { PoolProfile } from "stratagem-runtime/internal/bundle/schema";
import type { VariantProfile } from "../spec/application.ts";
import type { MeasuredRow } from "./service-time.ts";

/** Returns a profile of a variant that runs one query at a time. */
export function aloneOf(profile: VariantProfile): VariantProfile {
  return { ...profile, rows: profile.rows.filter(({ batch }) => batch === 1) };
}

/**
 * @param timesByBatch interpolates from the measured rows to every batch size up to the largest.
 */
export function poolProfileOf(
  { file, variant, hardware, sha256, rows, percentile }: VariantProfile,
  timesByBatch: (rows: readonly MeasuredRow[], maxBatch: number) => Float64Array,
): PoolProfile {
  const maxBatch = rows.at(-1)?.batch ?? 1;
  const hasQuantiles = rows.every((row) => row.quantiles !== null);
  const curve = (msOf: (row: (typeof rows)[number]) => number) => ({
    dtype: "float64" as const,
    shape: [1, maxBatch],
    data: timesByBatch(
      rows.map((row) => ({ batch: row.batch, ms: msOf(row) })),
      maxBatch,
    ),
  });
  return {
    profile: { file, variant, hardware, sha256 },
    batches: {
      dtype: "uint16",
      shape: [rows.length],
      data: Uint16Array.from(rows, ({ batch }) => batch),
    },
    latencyMs: {
      dtype: "float64",
      shape: [rows.length],
      data: Float64Array.from(rows, ({ latencyMs }) => latencyMs),
    },
    serviceTimes: {
      percentile: hasQuantiles ? 95 : percentile,
      decisionMs: curve(({ latencyMs }) => latencyMs),
      quantiles: hasQuantiles
        ? {
            p50Ms: curve(({ quantiles }) => quantiles?.p50 ?? Number.NaN),
            p95Ms: curve(({ quantiles }) => quantiles?.p95 ?? Number.NaN),
            p99Ms: curve(({ quantiles }) => quantiles?.p99 ?? Number.NaN),
            meanMs: curve(({ quantiles }) => quantiles?.mean ?? Number.NaN),
          }
        : null,
    },
  };
}
