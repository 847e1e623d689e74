/** The problem that the levels of a frame solve, in parts that each have a default. */
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { kindFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import type { RamsisFrame } from "../../../model/frames.ts";

/** Queries that have their own table, or their own figures. */
interface QueryKind {
  readonly name: string;
  /** Fraction of the load. */
  readonly share: number;
  readonly latencyMs: number;
  /**
   * Returns the frame of this kind alone.
   * @param workers default: all of them.
   */
  readonly alone: (workers?: number) => RamsisFrame;
}

export interface LevelProblem {
  readonly frame: RamsisFrame;
  /** Classes or buckets; one kind with all of the load if queries are alike. */
  readonly kinds: readonly QueryKind[];
  /** Whether queries are of several kinds, and whether these are buckets. */
  readonly isDivided: boolean;
  readonly isPadded: boolean;
  /** Whether all workers share one queue; otherwise each has its own. */
  readonly isPooled: boolean;
  /** Whether the bundle has a serving path. */
  readonly hasPath: boolean;
  readonly workers: number;
  /** Allowed violations per query, for each kind. */
  readonly ceiling: number;
}

export function levelProblem(frame: RamsisFrame): LevelProblem {
  const { slo, buckets, cluster, policy } = frame;
  const { latencyMs } = slo;
  const divided = buckets?.map((bucket) => ({ latencyMs, ...bucket })) ?? slo.classes;
  const alone = { name: "", share: 1, latencyMs, alone: () => frame };
  return {
    frame,
    kinds: divided?.map(({ name, share, latencyMs: own }, index) => {
      const only = (workers?: number) => kindFrame(frame, index, workers);
      return { name, share, latencyMs: own, alone: only };
    }) ?? [alone],
    isDivided: divided !== undefined,
    isPadded: buckets !== undefined,
    isPooled: policy.balancer === "pooled",
    hasPath: cluster.serving !== undefined,
    workers: workerCountOf(frame),
    ceiling: violationCeiling(slo),
  };
}
