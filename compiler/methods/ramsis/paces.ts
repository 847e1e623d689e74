/** Tables and promises of RAMSIS for machines that are slower than their profile. */
import type {
  PaceFigures,
  PacePromises,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { PACES, pacedTimes } from "../../model/paced-times.ts";
import { AS_PROFILED } from "../../simulate/serving/machine-state.ts";
import type { MethodPaces, PacedLoad } from "../method.ts";
import { simulate } from "./simulate/simulate.ts";

/** Queries that a promise at a pace is simulated with, and seconds of them at least. */
const QUERIES = 20_000;
const LEAST_S = 5;
const SEED = 1;

export const ramsisPaces: MethodPaces<RamsisBundle, RamsisFrame, RamsisLevel> = {
  /**
   * Tables of lower loads serve slower machines at their share of a load, so that only loads above
   * the highest one are solved.
   */
  wanted({ levels }): readonly PacedLoad[] {
    const loadQps = levels.at(-1)?.loadQps;
    return loadQps === undefined ? [] : PACES.map((pace) => ({ loadQps, pace }));
  },

  frame(frame, pace) {
    const { buckets } = frame;
    return {
      ...frame,
      tasks: pacedTimes(frame.tasks, pace),
      ...(buckets !== undefined && { buckets: pacedTimes(buckets, pace) }),
    };
  },

  with(bundle, levels) {
    const paceLevels = levels.map(({ pace, level }) => {
      const { loadQps, actionByState, classTables, bucketTables, mixture } = level;
      return {
        ...{ pace, loadQps, actionByState, mixture },
        ...(classTables !== undefined && { classTables }),
        ...(bucketTables !== undefined && { bucketTables }),
      };
    });
    return { ...bundle, paceLevels };
  },

  promised(bundle, index, pace): PaceFigures {
    const { loadQps = 0 } = bundle.levels[index] ?? {};
    const { arrivals } = bundle;
    const isServed = bundle.cluster.serving !== undefined && hasQuantiles(bundle);
    const durationMs = Math.max(1000 * LEAST_S, (1000 * QUERIES) / loadQps);
    const result = simulate(bundle, {
      arrivals:
        arrivals.process === "gamma"
          ? { kind: "gamma", qps: loadQps, cv2: arrivals.cv2 }
          : { kind: "poisson", qps: loadQps },
      durationMs,
      seed: SEED,
      serviceTimes: isServed ? "sampled" : "p95",
      stations: { machine: { ...AS_PROFILED, pace } },
      baseline: null,
    });
    const { queries, satisfied, accuracyPerQuery, latencyMs } = result;
    return {
      pace,
      accuracyPerQuery: accuracyPerQuery ?? 0,
      violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
      p50: latencyMs?.p50 ?? 0,
      p99: latencyMs?.p99 ?? 0,
    };
  },

  promising(bundle, promised: readonly PacePromises[]) {
    const levels = bundle.levels.map((level, index) => {
      return { ...level, expected: { ...level.expected, ...promised[index] } };
    });
    return { ...bundle, levels };
  },
};

function hasQuantiles({ tasks, buckets = [] }: RamsisBundle): boolean {
  return [...tasks, ...buckets].every(({ serviceTimes }) => serviceTimes.quantiles !== null);
}
