/** Measures computed from two snapshots of an application's counters. */
import type { LiveApplication, LiveHistogram, LiveLevel } from "../live.ts";
import { msText } from "./numbers.ts";

export interface Measures {
  readonly rows: number;
  readonly violations: number;
  /** Null without rows. */
  readonly violationRate: number | null;
  /** Mean over rows answered in time. */
  readonly accuracy: number | null;
  /** Latency of answered requests; quantiles are interpolated within a bucket. */
  readonly meanMs: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** 10th percentile and median of the batches' slack. */
  readonly slackP10Ms: number | null;
  readonly slackP50Ms: number | null;
  /** Each variant's share of its task's rows; null without rows. */
  readonly shares: readonly (number | null)[];
  /** Indexed by variant. */
  readonly rowsByVariant: readonly number[];
  readonly batchesByVariant: readonly number[];
}

/** @param before omitted for the time since the start of the server. */
export function measuresOf(after: LiveApplication, before?: LiveApplication): Measures {
  const since = (of: (one: LiveApplication) => number) =>
    of(after) - (before === undefined ? 0 : of(before));
  const satisfied = since(({ rows }) => rows.satisfied);
  const violations = since(({ rows }) => rows.late + rows.dropped);
  const rows = satisfied + violations;
  const answered = since(({ requests }) => requests.answered);
  const latency = difference(after.latency, before?.latency ?? null);
  const slack = difference(after.slack, before?.slack ?? null);
  const rowsByVariant = after.variants.map((_, index) =>
    since(({ variants }) => variants[index]?.rows ?? 0),
  );
  const accuracies = since(({ satisfiedAccuracy }) => satisfiedAccuracy ?? 0);
  return {
    rows,
    violations,
    violationRate: ratio(violations, rows),
    accuracy: after.satisfiedAccuracy === null ? null : ratio(accuracies, satisfied),
    meanMs: ratio(
      since(({ requests }) => requests.answeredMs),
      answered,
    ),
    p50Ms: quantile(latency, 0.5),
    p99Ms: quantile(latency, 0.99),
    slackP10Ms: quantile(slack, 0.1, after.slo.latencyMs),
    slackP50Ms: quantile(slack, 0.5, after.slo.latencyMs),
    shares: sharesOf(after, rowsByVariant),
    rowsByVariant,
    batchesByVariant: after.variants.map((_, index) =>
      since(({ variants }) => variants[index]?.batches ?? 0),
    ),
  };
}

/** Formats a quantile; beyond the first and last buckets only a bound is known. */
export function quantileText(ms: number | null, histogram: LiveHistogram | null): string {
  const isBeyond = ms !== null && ms >= (histogram?.bounds.at(-1) ?? Number.POSITIVE_INFINITY);
  const first = histogram?.bounds[0] ?? 0;
  const isBelow = ms !== null && first < 0 && ms <= first;
  return `${isBeyond ? "≥ " : isBelow ? "≤ " : ""}${msText(ms)}`;
}

/** Level whose promise applies; undefined before the first decision. */
export function decidingLevel({ level, levels }: LiveApplication): LiveLevel | undefined {
  return levels.find(({ index }) => index === level);
}

/**
 * Interpolates a quantile within its bucket. @param most upper bound of values, used in place of a
 * larger bucket bound.
 */
export function quantile(
  histogram: LiveHistogram | null,
  share: number,
  most = Number.POSITIVE_INFINITY,
): number | null {
  if (histogram === null) return null;
  const { bounds, counts } = histogram;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  let before = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && before + count >= share * total) {
      const upper = bounds[bucket] ?? bounds.at(-1) ?? 0;
      const first = bounds[0] ?? 0;
      const lower = bucket === 0 ? Math.min(0, first) : (bounds[bucket - 1] ?? upper);
      const end = Math.max(lower, Math.min(upper, most));
      return lower + ((share * total - before) / count) * (end - lower);
    }
    before += count;
  }
  return bounds.at(-1) ?? null;
}

function sharesOf({ variants }: LiveApplication, rows: readonly number[]): (number | null)[] {
  const rowsByTask = new Map<string, number>();
  for (const [index, { task }] of variants.entries()) {
    rowsByTask.set(task, (rowsByTask.get(task) ?? 0) + (rows[index] ?? 0));
  }
  return variants.map(({ task }, index) => ratio(rows[index] ?? 0, rowsByTask.get(task) ?? 0));
}

function difference(
  after: LiveHistogram | null,
  before: LiveHistogram | null,
): LiveHistogram | null {
  if (after === null || before === null) return after;
  const counts = after.counts.map((count, index) => count - (before.counts[index] ?? 0));
  return { bounds: after.bounds, counts };
}

function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null;
}
