/**
 * What the levels of a bundle with classes, or buckets, say of who waits with whom, and of what
 * decides for them.
 */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { kindBundle, withoutKinds, withPaceLevels } from "../bundle/kind-views.ts";
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
 * One plan for each level of a bundle with classes, or buckets, which never wait together.
 * @param workers of the cluster. @throws Error if the bundle contradicts itself.
 */
export function classPlans(paced: RamsisBundle, workers: number): readonly ClassPlan[] {
  const bundle = withPaceLevels(paced);
  const { slo, buckets } = bundle;
  const kinds = slo.classes ?? buckets ?? [];
  const shared = withoutKinds(bundle);
  return bundle.levels.map((level, index) => {
    const hasOwn = level.classTables !== undefined || level.bucketTables !== undefined;
    const apart = (hasOwn ? kinds : []).map((_, kind) => {
      const own = level.classTables?.[kind]?.workers ?? workers;
      return lineOf(kindBundle(bundle, level, kind), kind, kind + 1, own);
    });
    if (buckets !== undefined) return { together: apart, apart: null };
    const alone = { ...shared, levels: shared.levels.slice(index, index + 1) };
    const together = [lineOf(alone, 0, kinds.length, workers)];
    return { together, apart: hasOwn ? apart : null };
  });
}

/** @param bundle whose policy decides, by its only level where the line is of a plan. */
export function lineOf(bundle: RamsisBundle, first: number, end: number, workers: number): Line {
  const policy = Policy.fromBundle(bundle);
  return { first, end, capacity: policy.queueCapacity, workers, policy };
}
