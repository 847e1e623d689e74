/**
 * What one shard solves of a range in which levels place themselves.
 *
 * Where an interval is cut depends on its own ends only, so intervals are searched apart. All
 * shards solve what they need to tell intervals apart: first the ends of the range, then the cuts
 * of an interval that is theirs together. As soon as there are as many intervals as shards to
 * search them, each shard goes on with its own.
 */
import {
  type AdaptiveLoads,
  cutsOf,
  type SolveRound,
  type Step,
  stepsBetween,
  tooManyLevels,
} from "../levels/adaptive-levels.ts";
import type { SolvedLevel } from "../methods/method.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { Shard } from "./shard.ts";

/** Two neighbours between which levels are wanted. */
type Interval = readonly [SolvedLevel, SolvedLevel];

/** Intervals that some shards have together, and which of them this one is. */
interface Lot {
  readonly intervals: readonly Interval[];
  readonly shard: Shard;
}

/**
 * @returns all levels that were solved, which a placement over all shards is made of, or what is
 * wrong with a step that takes too many.
 */
export async function solveShareOfRange(
  { fromQps, toQps }: AdaptiveLoads,
  step: Step,
  shard: Shard,
  solve: SolveRound,
): Promise<readonly SolvedLevel[] | Mistake> {
  const ends = await solve(fromQps === toQps ? [fromQps] : [fromQps, toQps], 1);
  const all = [...ends];
  const mistake = tooManyLevels(ends, 0, step);
  if (mistake !== null) return mistake;
  let lot = ownPart({ intervals: openIntervals(ends, step), shard }, step);
  for (let round = 2; lot.intervals.length > 0; round++) {
    const cuts = lot.intervals.map((interval) => cutsOf(interval, step));
    const tooMany = tooManyLevels(all, cuts.flat().length, step);
    if (tooMany !== null) return tooMany;
    const solved = await solve(cuts.flat(), round);
    all.push(...solved);
    all.sort((a, b) => a.level.loadQps - b.level.loadQps);
    let at = 0;
    const intervals = lot.intervals.flatMap(([a, b], index) => {
      const between = solved.slice(at, at + (cuts[index]?.length ?? 0));
      at += between.length;
      return openIntervals([a, ...between, b], step);
    });
    lot = ownPart({ intervals, shard: lot.shard }, step);
  }
  return all;
}

/** Neighbours that are still to be cut. */
function openIntervals(ascending: readonly SolvedLevel[], step: Step): Interval[] {
  return ascending.slice(1).flatMap((b, index) => {
    const a = ascending[index];
    return a === undefined || cutsOf([a, b], step).length === 0 ? [] : [[a, b] as const];
  });
}

/** What of a lot is this shard's: every shard of the lot divides it alike. */
function ownPart({ intervals, shard }: Lot, step: Step): Lot {
  if (shard.of === 1 || intervals.length === 0) return { intervals, shard };
  const weights = intervals.map(([a, b]) => stepsBetween(a, b, step));
  return intervals.length >= shard.of
    ? intervalsOf(intervals, weights, shard)
    : shardsOf(intervals, weights, shard);
}

/** The heaviest first, each to the shard that has the least; the first of those that are equal. */
function intervalsOf(
  intervals: readonly Interval[],
  weights: readonly number[],
  { number, of }: Shard,
): Lot {
  const carried = new Float64Array(of);
  const own = new Set<number>();
  for (const index of heaviestFirst(weights)) {
    const least = carried.indexOf(Math.min(...carried));
    carried[least] = (carried[least] ?? 0) + (weights[index] ?? 0);
    if (least === number - 1) own.add(index);
  }
  const chosen = intervals.filter((_, index) => own.has(index));
  return { intervals: chosen, shard: { number: 1, of: 1 } };
}

/** A shard for each interval, and each further one to where a shard has the most to do. */
function shardsOf(
  intervals: readonly Interval[],
  weights: readonly number[],
  { number, of }: Shard,
): Lot {
  const counts = intervals.map(() => 1);
  for (let left = of - intervals.length; left > 0; left--) {
    const loads = weights.map((weight, index) => weight / (counts[index] ?? 1));
    const most = loads.indexOf(Math.max(...loads));
    counts[most] = (counts[most] ?? 0) + 1;
  }
  let before = 0;
  for (const [index, count] of counts.entries()) {
    const interval = intervals[index];
    if (interval !== undefined && number <= before + count) {
      return { intervals: [interval], shard: { number: number - before, of: count } };
    }
    before += count;
  }
  throw new RangeError("every shard has an interval");
}

function heaviestFirst(weights: readonly number[]): number[] {
  const order = weights.map((_, index) => index);
  return order.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
}
