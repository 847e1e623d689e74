import { classBundle, withoutClasses } from "../bundle/class-views.ts";
import type { RamsisBundle } from "../bundle/schema.ts";
import { Policy } from "./policy.ts";

/** Queries that wait together: those of all classes, or of one. */
export interface Line {
  /** The classes `first` to `end` − 1 are in it. */
  readonly first: number;
  readonly end: number;
  /** Queries that wait in it at most; one that finds so many is dropped. */
  readonly capacity: number;
  /** Workers that may run its batches at a time. */
  readonly workers: number;
  readonly policy: Policy;
}

/** What a level says of who waits with whom: one line, or a line for each class. */
export type LinePlan = readonly Line[];

/** One plan for each level of a bundle with classes. @throws Error if the bundle contradicts itself. */
export function linePlans(bundle: RamsisBundle): readonly LinePlan[] {
  const classCount = bundle.slo.classes?.length ?? 1;
  const shared = withoutClasses(bundle);
  let workerCount = 0;
  for (const { workers } of bundle.cluster.pools) workerCount += workers;
  return bundle.levels.map((level, index) => {
    const { classTables } = level;
    if (classTables !== undefined) {
      return classTables.map(({ workers }, first) =>
        lineOf(classBundle(bundle, level, first), first, first + 1, workers),
      );
    }
    const alone = { ...shared, levels: shared.levels.slice(index, index + 1) };
    return [lineOf(alone, 0, classCount, workerCount)];
  });
}

/** @param bundle of one level, which therefore decides whatever the load. */
function lineOf(bundle: RamsisBundle, first: number, end: number, workers: number): Line {
  const policy = Policy.fromBundle(bundle);
  return { first, end, capacity: policy.queueCapacity, workers, policy };
}
