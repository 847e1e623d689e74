/**
 * Promises of a level of tables, for all queries and for each kind, and the distance of two levels.
 */
import type {
  ClassExpected,
  ExpectedLatency,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/describe/missed";
import { type Figures, type LevelPromises, workerFigures } from "../level-promises.ts";
import type { LevelGap } from "../method.ts";
import { PACE_QUERIES } from "./paces.ts";
import { LATENCIES } from "./promise.ts";

export function ramsisPromises(bundle: RamsisBundle, level: RamsisLevel): LevelPromises {
  const { loadQps, feasible, expected } = level;
  const { pools } = bundle.cluster;
  const { byClass = {}, byBucket = [], sample } = expected;
  const accuracies = bundle.tasks.flatMap(({ variants }) => variants.map((one) => one.accuracy));
  const bestAccuracy = accuracies.reduce((best, one) => Math.max(best, one), 0);
  const ofShare = (share = 1) =>
    sample && { sample: { queries: share * sample.queries, bestAccuracy } };
  const classShares = new Map((bundle.slo.classes ?? []).map(({ name, share }) => [name, share]));
  const workers = pools.map((pool) => pool.workers);
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : ramsisMissed(bundle, level),
    figures: {
      ...figuresOf(expected),
      ...latencyFigures(expected.latencyMs),
      ...workerFigures(pools, workers),
    },
    sample:
      sample === undefined
        ? { queries: LATENCIES.queries, hasExactRates: true }
        : { ...sample, bestAccuracy },
    paceSample: { queries: PACE_QUERIES, bestAccuracy },
    classes: Object.entries(byClass).map(([name, one]) => {
      return { name, figures: figuresOf(one), ...ofShare(classShares.get(name)) };
    }),
    buckets: (bundle.buckets ?? []).flatMap(({ name, share }, index) => {
      const one = byBucket[index];
      return one === undefined ? [] : [{ name, figures: figuresOf(one), ...ofShare(share) }];
    }),
  };
}

function latencyFigures(latencyMs: ExpectedLatency | undefined): Figures {
  if (latencyMs === undefined) return {};
  const { p50, p95, p99 } = latencyMs;
  return { p50, ...(p95 !== undefined && { p95 }), p99 };
}

function figuresOf(expected: ClassExpected): Figures {
  const { violationRate, accuracyPerSatisfied, accuracyPerQuery } = expected;
  return {
    violations: violationRate,
    accuracy: accuracyPerSatisfied,
    accuracyPerQuery,
  };
}

/**
 * Difference in accuracy per query or per satisfied query, whichever is larger; the latter counts
 * only if both levels satisfy any query.
 */
export function ramsisGap({ expected: a }: RamsisLevel, { expected: b }: RamsisLevel): LevelGap {
  const perQuery = Math.abs(a.accuracyPerQuery - b.accuracyPerQuery);
  if (a.violationRate === 1 || b.violationRate === 1) return { accuracy: perQuery, otherSteps: 0 };
  const perSatisfied = Math.abs(a.accuracyPerSatisfied - b.accuracyPerSatisfied);
  return { accuracy: Math.max(perQuery, perSatisfied), otherSteps: 0 };
}
