/** A bundle with buckets as one bucket sees it. */
import type { RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { thinned } from "./class-views.ts";

/** What the levels of a bundle share. */
type Frame = Omit<RamsisBundle, "levels" | "provenance">;

/**
 * What the levels of one bucket by itself share: its share of the arrivals, its times and the axes
 * of its tables, on all of the workers. @param index of the bucket.
 */
export function bucketFrame({ buckets, ...frame }: Frame, index: number): Frame {
  const bucket = buckets?.[index];
  if (bucket === undefined) throw new RangeError("there is such a bucket");
  const { share, serviceTimes, maxQueue, queued, slackMs } = bucket;
  const { actions } = frame.decisionSpace;
  const axes = { maxQueue, ...(queued === undefined ? {} : { queued }), slackMs };
  return {
    ...frame,
    arrivals: thinned(frame.arrivals, share),
    tasks: frame.tasks.map((task) => ({ ...task, serviceTimes })),
    decisionSpace: { ...axes, actions },
  };
}

/** One bucket of a bundle at all levels as a bundle of its own. @param index of the bucket. */
export function bucketBundle(bundle: RamsisBundle, index: number): RamsisBundle {
  const { levels, provenance, ...frame } = bundle;
  const share = bundle.buckets?.[index]?.share ?? Number.NaN;
  return {
    ...bucketFrame(frame, index),
    levels: levels.map((level) => bucketLevel(level, index, share)),
    provenance,
  };
}

/** What one bucket gets of a level. @param share of the load. */
function bucketLevel(
  { bucketTables, expected: { byBucket, ...expected }, ...level }: RamsisLevel,
  index: number,
  share: number,
): RamsisLevel {
  const actionByState = bucketTables?.[index];
  if (actionByState === undefined) throw new RangeError("a level has a table for each bucket");
  return {
    ...level,
    loadQps: share * level.loadQps,
    capacityQps: share * level.capacityQps,
    expected: { ...expected, ...byBucket?.[index] },
    actionByState,
    mixture: null,
  };
}

/** The same bundle without buckets: every request is padded to the largest one. */
export function withoutBuckets({ buckets: _, levels, ...frame }: RamsisBundle): RamsisBundle {
  const padded = levels.map(({ bucketTables: _tables, expected, ...level }): RamsisLevel => {
    const { byBucket: _figures, ...figures } = expected;
    return { ...level, expected: figures };
  });
  return { ...frame, levels: padded };
}
