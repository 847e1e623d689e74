/** A bundle with classes as those see it who know of one SLO: one queue for all classes, or one class with its own workers. */
import type { RamsisBundle, RamsisLevel } from "./schema.ts";

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
 * One class at one level as a bundle of its own: its SLO, its share of the load, its workers and its table.
 * @param level one that has a table for each class. @param index of the class.
 */
export function classBundle(bundle: RamsisBundle, level: RamsisLevel, index: number): RamsisBundle {
  const sloClass = bundle.slo.classes?.[index];
  const space = bundle.classSpaces?.[index];
  const table = level.classTables?.[index];
  if (sloClass === undefined || space === undefined || table === undefined) {
    throw new RangeError("a level with a table for each class has one for this class");
  }
  const { name, latencyMs, share } = sloClass;
  const own: RamsisLevel = {
    ...level,
    loadQps: level.loadQps * share,
    capacityQps: level.capacityQps * share,
    expected: { ...level.expected, ...level.expected.byClass?.[name] },
    actionByState: table.actionByState,
    mixture: null,
  };
  const alone = withoutClasses({ ...bundle, levels: [own] });
  return {
    ...alone,
    slo: { ...alone.slo, latencyMs },
    cluster: withWorkers(bundle.cluster, table.workers),
    decisionSpace: { ...bundle.decisionSpace, ...space },
  };
}

/** A RAMSIS bundle has one pool. */
export function withWorkers(
  cluster: RamsisBundle["cluster"],
  workers: number,
): RamsisBundle["cluster"] {
  return { ...cluster, pools: cluster.pools.map((pool) => ({ ...pool, workers })) };
}
