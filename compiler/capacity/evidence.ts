/**
 * Judges from late requests whether a load keeps the ceiling on violations, by the early stopping
 * of MLPerf's server scenario: t late of n requests prove that the rate is below the ceiling if a
 * rate equal to it would give so few with a probability of at most the risk; and the other way
 * round. Source: MLPerf Inference, loadgen/early_stopping.cc, tolerance 0.
 *
 * MLPerf's requests are independent draws. Those of a queue are late together, so n and t are
 * divided by the design effect: the variance of the late requests per span of time over that of
 * independent ones. Source: Kish, "Survey Sampling", 1965, section 8.2.
 */
import { binomialAtMost } from "../numeric/binomial.ts";
import type { Window } from "../processes/level-request.ts";

export type Verdict = "holds" | "fails";
type Counted = "late" | "serverLate" | "slow";

/** Consecutive windows that count as one: late requests may come in longer clusters. */
const GROUP_SIZES = [1, 2, 4, 8];
const FEWEST_GROUPS = 6;
/** Larger shares are no tail, so their clusters say nothing about those of late requests. */
const MOST_SLOW = 0.5;

/**
 * Returns null without enough evidence for either.
 * @param windows at least one. @param limit ceiling on violations, in (0, 1).
 * @param risk accepted probability of a wrong verdict.
 */
export function verdictOf(windows: readonly Window[], limit: number, risk: number): Verdict | null {
  const queries = sumOf(windows, "queries");
  // Late requests are too rare below the capacity to show how they cluster, slow ones are not.
  const slow = rateOf(windows, "slow") <= MOST_SLOW ? designEffect(windows, "slow") : 1;
  const effect = Math.max(slow, designEffect(windows, "late"));
  const late = Math.ceil(sumOf(windows, "late") / effect);
  const trials = Math.floor(queries / effect);
  if (trials > late && binomialAtMost(late, trials, limit) <= risk) return "holds";
  const own = designEffect(windows, "serverLate");
  const served = Math.floor(sumOf(windows, "serverLate") / own);
  const all = Math.ceil(queries / own);
  if (served > 0 && 1 - binomialAtMost(served - 1, all, limit) <= risk) return "fails";
  return null;
}

/** Requests that prove the ceiling with none late, at a design effect of 1. */
export function fewestQueries(limit: number, risk: number): number {
  return Math.ceil(Math.log(risk) / Math.log1p(-limit));
}

/** Share of the requests; 0 without requests. */
export function rateOf(windows: readonly Window[], counted: Counted): number {
  const queries = sumOf(windows, "queries");
  return queries === 0 ? 0 : sumOf(windows, counted) / queries;
}

export function sumOf(windows: readonly Window[], counted: Counted | "queries"): number {
  return windows.reduce((sum, window) => sum + window[counted], 0);
}

/** At least 1: the highest over windows and groups of consecutive ones. */
export function designEffect(windows: readonly Window[], counted: Counted): number {
  const rate = rateOf(windows, counted);
  if (rate === 0 || rate === 1) return 1;
  const effects = GROUP_SIZES.flatMap((size) => {
    const groups = grouped(windows, size, counted);
    if (groups.length < FEWEST_GROUPS) return [];
    const squares = groups.map(([queries, count]) => (count - rate * queries) ** 2 / queries);
    const sum = squares.reduce((total, square) => total + square, 0);
    return [sum / (rate * (1 - rate) * (groups.length - 1))];
  });
  return Math.max(1, ...effects);
}

/** Requests, and counted ones, of each group with requests. */
function grouped(windows: readonly Window[], size: number, counted: Counted): [number, number][] {
  const groups: [number, number][] = [];
  for (let first = 0; first + size <= windows.length; first += size) {
    const group = windows.slice(first, first + size);
    const queries = sumOf(group, "queries");
    if (queries > 0) groups.push([queries, sumOf(group, counted)]);
  }
  return groups;
}
