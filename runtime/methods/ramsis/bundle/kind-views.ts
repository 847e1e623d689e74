/**
 * Views of a bundle with several kinds of queries, classes or buckets, as seen by one queue: of one
 * kind, or of all; and pace levels as levels.
 */
import type { ClassSpace, RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";

/** The part of a bundle that its levels share. */
type Frame = Omit<RamsisBundle, "levels" | "provenance">;

/**
 * Returns the same bundle with one queue for all queries at every level, without classes and
 * buckets: queries of buckets are padded to the largest one.
 */
export function withoutKinds(bundle: RamsisBundle): RamsisBundle {
  const { classSpaces: _spaces, buckets: _buckets, slo, policy, levels, ...rest } = bundle;
  const { classes: _classes, ...oneSlo } = slo;
  const { classes: _how, ...options } = policy;
  return { ...rest, slo: oneSlo, policy: options, levels: levels.map(levelWithoutKinds) };
}

function levelWithoutKinds(level: RamsisLevel): RamsisLevel {
  const { classTables: _classes, bucketTables: _buckets, expected, ...rest } = level;
  const { byClass: _byClass, byBucket: _byBucket, ...figures } = expected;
  return { ...rest, expected: figures };
}

/**
 * Returns one kind of queries at one level as a bundle of its own: its share of the load and its
 * table; for a class its SLO and workers.
 * @param level a level with a table for each kind. @param index index of the class or bucket.
 */
export function kindBundle(bundle: RamsisBundle, level: RamsisLevel, index: number): RamsisBundle {
  const table = level.classTables?.[index];
  const actionByState = table?.actionByState ?? level.bucketTables?.[index];
  if (actionByState === undefined) throw new RangeError("the level has a table for each kind");
  const { levels: _, paceLevels: _paced, provenance, ...frame } = bundle;
  const { name, share } = kindAt(frame, index);
  const { byClass, byBucket } = level.expected;
  const own = levelWithoutKinds({
    ...level,
    loadQps: share * level.loadQps,
    capacityQps: share * level.capacityQps,
    expected: { ...level.expected, ...(byClass?.[name] ?? byBucket?.[index]) },
    actionByState,
    mixture: null,
  });
  return { ...kindFrame(frame, index, table?.workers), levels: [own], provenance };
}

/**
 * Returns the frame of the levels of one kind. @param index index of the class or bucket. @param
 * workers workers that serve it; left out for all.
 */
export function kindFrame(frame: Frame, index: number, workers?: number): Frame {
  const { classSpaces, buckets, slo, policy, cluster, tasks, decisionSpace, ...rest } = frame;
  const { latencyMs, share, serviceTimes } = kindAt(frame, index);
  // Rows of queue lengths are specific to the kind.
  const { actions, maxQueue, slackMs } = decisionSpace;
  const axes = buckets?.[index] ?? classSpaces?.[index] ?? { maxQueue, slackMs };
  const { classes: _classes, ...oneSlo } = slo;
  const { classes: _how, ...options } = policy;
  // Tables are for one pool.
  const pools = cluster.pools.map((pool) => (workers === undefined ? pool : { ...pool, workers }));
  return {
    ...rest,
    slo: { ...oneSlo, latencyMs },
    policy: options,
    arrivals: thinned(frame.arrivals, share),
    cluster: { ...cluster, pools },
    tasks: tasks.map((task) => ({ ...task, ...(serviceTimes !== undefined && { serviceTimes }) })),
    decisionSpace: {
      maxQueue: axes.maxQueue,
      ...(axes.queued !== undefined && { queued: axes.queued }),
      slackMs: axes.slackMs,
      actions,
    },
  };
}

function kindAt({ slo, buckets }: Pick<Frame, "slo" | "buckets">, index: number) {
  const bucket = buckets?.[index];
  const kind = bucket === undefined ? slo.classes?.[index] : { ...slo, ...bucket };
  if (kind === undefined) throw new RangeError("there is such a class or bucket");
  return { serviceTimes: bucket?.serviceTimes, ...kind };
}

/**
 * Thins arrivals: each is kept with a probability. Their counts vary less for their mean, down to
 * those of a Poisson process.
 */
function thinned(arrivals: Frame["arrivals"], share: number): Frame["arrivals"] {
  const less = (dispersion: number): number => 1 + share * (dispersion - 1);
  if (arrivals.process === "gamma") return { ...arrivals, cv2: less(arrivals.cv2) };
  if (arrivals.process === "trace") return { ...arrivals, dispersion: less(arrivals.dispersion) };
  return arrivals;
}

/**
 * Returns the bundle with the pace levels after the levels; they differ only in tables and loads.
 * Indices of deciding levels are indices here.
 */
export function withPaceLevels({ paceLevels = [], ...bundle }: RamsisBundle): RamsisBundle {
  const { levels } = bundle;
  const [first] = levels;
  if (first === undefined) throw new RangeError("a bundle has a level");
  return { ...bundle, levels: [...levels, ...paceLevels.map((level) => ({ ...first, ...level }))] };
}

/** Returns queue lengths that have a row, ascending from 1: by default each up to a full queue. */
export function rowLengths({
  queued,
  maxQueue,
}: Pick<ClassSpace, "queued" | "maxQueue">): ArrayLike<number> {
  return queued?.data ?? Float64Array.from({ length: maxQueue + 1 }, (_, row) => row + 1);
}
