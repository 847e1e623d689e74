/** What a bundle knows of a batch that a server ran: its profiled times, and why it was chosen. */
import type { ServiceTimes } from "stratagem-runtime/internal/bundle/schema";

/** A batch as an access log tells of it; what the log does not say is null. */
export interface RanBatch {
  readonly task: string | null;
  readonly variant: string;
  readonly batch: number;
  readonly level: number | null;
  readonly queued: number | null;
  readonly slackMs: number | null;
  /** Pace of its worker; 1 if the log states none. */
  readonly pace: number;
  readonly worker: number | null;
  /** Class or bucket of its requests. */
  readonly kind: string | null;
  /** Workers that ran it together. */
  readonly places: readonly number[] | null;
}

/** Of a whole batch, ms. */
interface ProfiledBatch {
  /** Null where the profile has no quantiles. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** What decisions count with. */
  readonly decisionMs: number;
}

export interface BatchFacts {
  /** Null for a batch that the bundle has no times of. */
  readonly profiled: ProfiledBatch | null;
  /** The state that was decided in, as `inspect --state` takes it; null where plans decide. */
  readonly state: string | null;
  /** Why it was that, by the table or the plan of its level; null where nothing is known. */
  readonly rule: string | null;
}

/** @param variant index on axis 0 of the tables. */
export function profiledBatch(
  { decisionMs, quantiles }: ServiceTimes,
  variant: number,
  batch: number,
): ProfiledBatch | null {
  const [, maxBatch = 0] = decisionMs.shape;
  if (variant < 0 || batch < 1 || batch > maxBatch) return null;
  const cell = variant * maxBatch + batch - 1;
  const decided = decisionMs.data[cell];
  if (decided === undefined) return null;
  return {
    p50Ms: quantiles?.p50Ms.data[cell] ?? null,
    p95Ms: quantiles?.p95Ms.data[cell] ?? null,
    p99Ms: quantiles?.p99Ms.data[cell] ?? null,
    decisionMs: decided,
  };
}
