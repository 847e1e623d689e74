/**
 * Solves the share of one shard in a range with adaptive placement of levels.
 * An interval is divided by its own ends only, so intervals are independent. All shards solve the
 * levels that determine the intervals: first the ends of the range, then the divisions of their
 * common intervals. As soon as there are as many intervals as shards, each shard continues with its
 * own.
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

/** Neighbours between which levels are needed. */
type Interval = readonly [SolvedLevel, SolvedLevel];

/** Intervals that a group of shards has in common, and this shard's position in the group. */
interface IntervalGroup {
  readonly intervals: readonly Interval[];
  readonly shard: Shard;
}

/**
 * @returns all solved levels, which the placement over all shards uses, or the mistake of a step
 * that needs too many.
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
  let group = ownPart({ intervals: openIntervals(ends, step), shard }, step);
  for (let round = 2; group.intervals.length > 0; round++) {
    const cuts = group.intervals.map((interval) => cutsOf(interval, step));
    const tooMany = tooManyLevels(all, cuts.flat().length, step);
    if (tooMany !== null) return tooMany;
    const solved = await solve(cuts.flat(), round);
    all.push(...solved);
    all.sort((a, b) => a.level.loadQps - b.level.loadQps);
    let at = 0;
    const intervals = group.intervals.flatMap(([a, b], index) => {
      const between = solved.slice(at, at + (cuts[index]?.length ?? 0));
      at += between.length;
      return openIntervals([a, ...between, b], step);
    });
    group = ownPart({ intervals, shard: group.shard }, step);
  }
  return all;
}

/** Neighbours that must be divided further. */
function openIntervals(ascending: readonly SolvedLevel[], step: Step): Interval[] {
  return ascending.slice(1).flatMap((b, index) => {
    const a = ascending[index];
    return a === undefined || cutsOf([a, b], step).length === 0 ? [] : [[a, b] as const];
  });
}

/**
 * Returns the part of a group for this shard; every shard of the group divides it in the same way.
 */
function ownPart({ intervals, shard }: IntervalGroup, step: Step): IntervalGroup {
  if (shard.of === 1 || intervals.length === 0) return { intervals, shard };
  const weights = intervals.map(([a, b]) => stepsBetween(a, b, step));
  return intervals.length >= shard.of
    ? intervalsOf(intervals, weights, shard)
    : shardsOf(intervals, weights, shard);
}

/** Assigns the heaviest first to the shard with the least; ties go to the first. */
function intervalsOf(
  intervals: readonly Interval[],
  weights: readonly number[],
  { number, of }: Shard,
): IntervalGroup {
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

/** Assigns a shard to each interval, and further ones where the work per shard is largest. */
function shardsOf(
  intervals: readonly Interval[],
  weights: readonly number[],
  { number, of }: Shard,
): IntervalGroup {
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
  throw new RangeError("expected an interval for every shard");
}

function heaviestFirst(weights: readonly number[]): number[] {
  const order = weights.map((_, index) => index);
  return order.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
}
