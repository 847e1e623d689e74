/** A bundle with classes as one SLO sees it: one queue for all classes, or one class by itself. */
import type { RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";

/** What the levels of a bundle share. */
type Frame = Omit<RamsisBundle, "levels" | "provenance">;

/** The same bundle with one queue for all classes at every level, and without a word of classes. */
export function withoutClasses(bundle: RamsisBundle): RamsisBundle {
  const { classSpaces: _spaces, slo, policy, levels, ...rest } = bundle;
  const { classes: _classes, ...oneSlo } = slo;
  const { classes: _how, ...options } = policy;
  return { ...rest, slo: oneSlo, policy: options, levels: levels.map(levelWithoutClasses) };
}

function levelWithoutClasses({ classTables: _, expected, ...level }: RamsisLevel): RamsisLevel {
  const { byClass: _figures, ...figures } = expected;
  return { ...level, expected: figures };
}

/**
 * One class at one level as a bundle of its own: its SLO, its share of the load, its workers and
 * its table.
 * @param level one that has a table for each class. @param index of the class.
 */
export function classBundle(bundle: RamsisBundle, level: RamsisLevel, index: number): RamsisBundle {
  const table = level.classTables?.[index];
  if (table === undefined) throw new RangeError("the level has a table for each class");
  const { levels: _, provenance, ...frame } = bundle;
  const { name, share } = classAt(frame, index);
  const own = levelWithoutClasses({
    ...level,
    loadQps: level.loadQps * share,
    capacityQps: level.capacityQps * share,
    expected: { ...level.expected, ...level.expected.byClass?.[name] },
    actionByState: table.actionByState,
    mixture: null,
  });
  return { ...classFrame(frame, index, table.workers), levels: [own], provenance };
}

/**
 * What the levels of one class by itself share, with so many workers. @param index of the class.
 */
export function classFrame(frame: Frame, index: number, workers: number): Frame {
  const { classSpaces, slo, policy, arrivals, cluster, decisionSpace, ...rest } = frame;
  const { latencyMs, share } = classAt(frame, index);
  // Whether a queue length has a row is a matter of the class.
  const { queued: _rows, ...space } = decisionSpace;
  const { classes: _classes, ...oneSlo } = slo;
  const { classes: _how, ...options } = policy;
  return {
    ...rest,
    slo: { ...oneSlo, latencyMs },
    policy: options,
    arrivals: thinned(arrivals, share),
    // Tables are for one pool.
    cluster: { ...cluster, pools: cluster.pools.map((pool) => ({ ...pool, workers })) },
    decisionSpace: { ...space, ...classSpaces?.[index] },
  };
}

function classAt({ slo }: Pick<Frame, "slo">, index: number) {
  const sloClass = slo.classes?.[index];
  if (sloClass === undefined) throw new RangeError("there is such a class");
  return sloClass;
}

/**
 * Arrivals of which each is kept with a probability: their counts vary less for their mean, down to
 * those of a Poisson process.
 */
export function thinned(arrivals: Frame["arrivals"], share: number): Frame["arrivals"] {
  const less = (dispersion: number): number => 1 + share * (dispersion - 1);
  if (arrivals.process === "gamma") return { ...arrivals, cv2: less(arrivals.cv2) };
  if (arrivals.process === "trace") return { ...arrivals, dispersion: less(arrivals.dispersion) };
  return arrivals;
}
