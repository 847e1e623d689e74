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
  const cell = cellOf(times, variant, rows);
  if (times === undefined || cell === undefined) return undefined;
  const decisionMs = times.decisionMs.data[cell];
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
  const cell = cellOf(times, variant, rows);
  if (times === undefined || cell === undefined) return undefined;
  const decisionMs = times.decisionMs.data[cell];
  if (decisionMs === undefined) return undefined;
  return { p50Ms: times.quantiles?.p50Ms.data[cell] ?? decisionMs, decisionMs };
}

/** Place in the tables; undefined for a batch that was not profiled. */
function cellOf(times: ServiceTimes | undefined, variant: number, rows: number) {
  const maxBatch = times?.decisionMs.shape.at(-1) ?? 0;
  return rows > maxBatch ? undefined : variant * maxBatch + rows - 1;
}
