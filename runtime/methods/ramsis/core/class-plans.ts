/**
 * What the levels of a bundle with classes say of who waits with whom, and of what decides for
 * them.
 */
import type { RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { bucketBundle } from "../bundle/bucket-views.ts";
import { classBundle, withoutClasses } from "../bundle/class-views.ts";
import { withPaceLevels } from "../bundle/pace-views.ts";
import type { ClassSpan } from "./line-queues.ts";
import { Policy } from "./policy.ts";

/** Queries that wait together: those of all classes, or of one. */
export interface Line extends ClassSpan {
  /** Queries that wait in it at most; one that finds so many is dropped. */
  readonly capacity: number;
  /** Workers that may run its batches at a time. */
  readonly workers: number;
  readonly policy: Policy;
}

/** What a level says of who waits with whom. */
export interface ClassPlan {
  /** One line for all, or for each bucket. */
  readonly together: readonly Line[];
  /** A line for each class; null where the level has none. */
  readonly apart: readonly Line[] | null;
}

/**
 * One plan for each level of a bundle with classes. @throws Error if the bundle contradicts itself.
 */
export function classPlans(paced: RamsisBundle): readonly ClassPlan[] {
  const bundle = withPaceLevels(paced);
  if (bundle.buckets !== undefined) return bucketPlans(bundle);
  const shared = withoutClasses(bundle);
  return bundle.levels.map((level, index) => ({
    together: [togetherOf(bundle, { ...shared, levels: shared.levels.slice(index, index + 1) })],
    apart: apartOf(bundle, level),
  }));
}

/**
 * Of each level a line for each bucket, on all of the workers: queries of several buckets never
 * wait together.
 */
function bucketPlans(bundle: RamsisBundle): readonly ClassPlan[] {
  const { cluster, buckets = [] } = bundle;
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const alone = buckets.map((_, bucket) => bucketBundle(bundle, bucket));
  return bundle.levels.map((_, level) => ({
    together: alone.map((one, bucket) => {
      const levels = one.levels.slice(level, level + 1);
      return lineOf({ ...one, levels }, bucket, bucket + 1, workers);
    }),
    apart: null,
  }));
}

/** @param alone the bundle with one level and without classes. */
function togetherOf({ slo, cluster }: RamsisBundle, alone: RamsisBundle): Line {
  let workers = 0;
  for (const pool of cluster.pools) workers += pool.workers;
  return lineOf(alone, 0, slo.classes?.length ?? 1, workers);
}

function apartOf(bundle: RamsisBundle, level: RamsisLevel): readonly Line[] | null {
  if (level.classTables === undefined) return null;
  return level.classTables.map(({ workers }, sloClass) =>
    lineOf(classBundle(bundle, level, sloClass), sloClass, sloClass + 1, workers),
  );
}

/** @param bundle of one level, which therefore decides whatever the load. */
function lineOf(bundle: RamsisBundle, first: number, end: number, workers: number): Line {
  const policy = Policy.fromBundle(bundle);
  return { first, end, capacity: policy.queueCapacity, workers, policy };
}
