/** Sample sizes for the search and the judgement of a pooled level. */

/** Queries that a level's promise is measured on. */
export const PROMISE_QUERIES = 250_000;
export const PROMISE_SLOS = 60;
/** SLOs that pass before a sample counts: beyond capacity the queue takes long to fill. */
const SETTLING_SLOS = 1.5;
const OVERLOAD_SETTLING_SLOS = 20;
/** Maximum arrivals that extend a sample to its least duration. */
const MOST_ARRIVALS = 1_000_000;

interface SampleSpan {
  /** The counted queries, first and end. */
  readonly counted: readonly [number, number];
  /** All queries, including those before and after. */
  readonly count: number;
}

interface SampledLevel {
  readonly arrivalsPerMs: number;
  readonly sloMs: number;
  readonly workerCount: number;
  readonly isOverloaded: boolean;
}

/**
 * @param asked least counted queries and SLOs of a sample; a whole sample beyond capacity counts
 * all of its queries, from an empty cluster to the last one.
 */
export function sampleSpan(
  { arrivalsPerMs, sloMs, workerCount, isOverloaded }: SampledLevel,
  asked: { readonly queries: number; readonly slos: number; readonly isWhole?: boolean },
): SampleSpan {
  const long = Math.min(MOST_ARRIVALS, asked.slos * arrivalsPerMs * sloMs);
  const queries = Math.ceil(Math.max(asked.queries, long));
  // Evaluated in this order, since products are rounded.
  const settlingSlos = isOverloaded ? OVERLOAD_SETTLING_SLOS : SETTLING_SLOS;
  const before = Math.ceil(settlingSlos * arrivalsPerMs * sloMs) + workerCount;
  const after = Math.ceil(SETTLING_SLOS * arrivalsPerMs * sloMs) + workerCount;
  const whole = before + queries;
  if (isOverloaded && asked.isWhole) return { counted: [0, whole], count: whole };
  const counted = [before, whole] as const;
  return { counted, count: whole + after };
}

/** Queries of the largest sample of a level. */
export function sampleQueries(level: SampledLevel): number {
  return sampleSpan(level, { queries: PROMISE_QUERIES, slos: PROMISE_SLOS }).count;
}
