/**
 * Facts that a bundle states about a batch that a server ran: profiled times and the reason for the
 * choice.
 */
import type { ServiceTimes } from "stratagem-runtime/internal/bundle/schema";

/** Batch in an access log; null for what the log does not state. */
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

/** Times of a whole batch, ms. */
interface ProfiledBatch {
  /** Null if the profile has no quantiles. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** Time that decisions assume. */
  readonly decisionMs: number;
}

export interface BatchFacts {
  /** Null if the bundle has no times for the batch. */
  readonly profiled: ProfiledBatch | null;
  /** State of the decision, in the form of `inspect --state`; null if plans decide. */
  readonly state: string | null;
  /** Rule of the level's table or plan that made the decision; null if unknown. */
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
