/** What batches take, as a bundle's profile says. */
import type { ServiceTimes } from "../../bundle/schema.ts";

/** What a profile says of batches of a size. */
export interface ProfiledTime {
  readonly p50Ms: number;
  /** What decisions are made with. */
  readonly decisionMs: number;
}

/**
 * Of a batch of a variant, ms: the p99 where the profile has it, else what decisions are made with;
 * undefined for a batch that was not profiled. @param variant index on axis 0 of the tables.
 */
export function p99MsOf(
  times: ServiceTimes | undefined,
  variant: number,
  rows: number,
): number | undefined {
  if (times === undefined) return undefined;
  const { data, shape } = times.decisionMs;
  const maxBatch = shape.at(-1) ?? 0;
  if (rows > maxBatch) return undefined;
  const cell = variant * maxBatch + rows - 1;
  const decisionMs = data[cell];
  const p99Ms = times.quantiles?.p99Ms.data[cell];
  // Decisions may rest on more than was measured.
  return decisionMs === undefined ? p99Ms : Math.max(decisionMs, p99Ms ?? 0);
}

/**
 * Of a batch of a variant: the median where the profile has it, else what decisions are made with;
 * undefined for a batch that was not profiled. @param variant index on axis 0 of the tables.
 */
export function profiledOf(
  times: ServiceTimes | undefined,
  variant: number,
  rows: number,
): ProfiledTime | undefined {
  if (times === undefined) return undefined;
  const { data, shape } = times.decisionMs;
  const maxBatch = shape.at(-1) ?? 0;
  if (rows > maxBatch) return undefined;
  const cell = variant * maxBatch + rows - 1;
  const decisionMs = data[cell];
  if (decisionMs === undefined) return undefined;
  return { p50Ms: times.quantiles?.p50Ms.data[cell] ?? decisionMs, decisionMs };
}
