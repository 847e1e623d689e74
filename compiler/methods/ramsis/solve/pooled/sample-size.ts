/** How many queries the samples have that a pooled level is searched and judged with. */

/** Queries that a level's promise is measured on. */
export const PROMISE_QUERIES = 250_000;
export const PROMISE_SLOS = 60;
/** SLOs that pass before a sample counts: beyond capacity the queue takes long to fill. */
const SETTLING_SLOS = 1.5;
const OVERLOAD_SETTLING_SLOS = 20;
/** Arrivals that a sample has for its length, at most. */
const MOST_ARRIVALS = 1_000_000;

export interface SampleSpan {
  /** The queries that count, first and end. */
  readonly counted: readonly [number, number];
  /** All queries, those before and after included. */
  readonly count: number;
}

/** @param asked queries and SLOs that a sample counts at least. */
export function sampleSpan(
  queriesPerSlo: number,
  workerCount: number,
  isOverloaded: boolean,
  asked: { readonly queries: number; readonly slos: number },
): SampleSpan {
  const settlingSlos = isOverloaded ? OVERLOAD_SETTLING_SLOS : SETTLING_SLOS;
  const before = Math.ceil(settlingSlos * queriesPerSlo) + workerCount;
  const after = Math.ceil(SETTLING_SLOS * queriesPerSlo) + workerCount;
  const long = Math.min(MOST_ARRIVALS, asked.slos * queriesPerSlo);
  const counted = [before, before + Math.ceil(Math.max(asked.queries, long))] as const;
  return { counted, count: counted[1] + after };
}

/** Queries of the largest sample of a level. */
export function sampleQueries(
  loadQps: number,
  sloMs: number,
  workerCount: number,
  isOverloaded: boolean,
): number {
  const asked = { queries: PROMISE_QUERIES, slos: PROMISE_SLOS };
  return sampleSpan((loadQps * sloMs) / 1000, workerCount, isOverloaded, asked).count;
}
