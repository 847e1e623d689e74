/** Tables and promises of RAMSIS for machines that are slower than their profile. */
import type {
  PaceFigures,
  RamsisBundle,
  RamsisLevel,
  RamsisPaceLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import type { RamsisFrame } from "../../model/frames.ts";
import { mainLoads } from "../../model/main-loads.ts";
import { pacedTimes } from "../../model/paced-times.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { latencyPromise, withEnoughBatches } from "../../simulate/latency-sample.ts";
import { AS_PROFILED } from "../../simulate/serving/machine-state.ts";
import type { MethodPaces } from "../method.ts";
import { solvedLevel } from "./planned-level.ts";
import { onSharedAxes, planningFrame, planOfLevel } from "./planning-frame.ts";
import { judged } from "./promise.ts";
import { isSampled } from "./simulate/promised-times.ts";
import { simulate } from "./simulate/simulate.ts";
import { levelProblem } from "./solve/level-problem.ts";
import { ramsis } from "./solve/ramsis.ts";

/** Queries per simulation of a promise at a pace, after those of the time to find the pace. */
export const PACE_QUERIES = 10_000;
const WARM_BEATS = 1;
/**
 * Ratio of loads that share a table; closer than for a profiled machine, since a slower one is
 * nearer to its capacity, where a table of a higher load loses more.
 */
const CLOSE = 0.965;
const SEED = 1;
/** Paces for which classes and buckets have tables, each of which takes several searches. */
const DIVIDED_PACES = [1.5, 3];
/** A table of a higher load is shared if it is this close to the bound on accuracy. */
const SHARED_ACCURACY = 1e-3;

export const ramsisPaces: MethodPaces<RamsisBundle, RamsisFrame, RamsisPaceLevel> = {
  levels: (bundle, frame, pace) => paceLevels(bundle, pacedFrame(frame, pace), pace),
  with: (bundle, levels) => ({ ...bundle, paceLevels: levels }),
  promised: promisedAt,
  promising: (level, promised) => ({ ...level, expected: { ...level.expected, ...promised } }),
};

/** Levels whose queries are bound to workers need a simulation for their latencies. */
function judgedLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const problem = levelProblem(frame);
  const { p50Ms, p95Ms } = frame.slo;
  const hasTargets = p50Ms !== undefined || p95Ms !== undefined;
  if (!problem.isPooled && !hasTargets) return ramsis.solveLevel(frame, loadQps);
  const level = solvedLevel(problem, loadQps);
  return "expected" in level ? level : judged(problem, level);
}

function pacedFrame(frame: RamsisFrame, pace: number): RamsisFrame {
  const { buckets } = frame;
  return {
    ...frame,
    tasks: pacedTimes(frame.tasks, pace),
    ...(buckets !== undefined && { buckets: pacedTimes(buckets, pace) }),
  };
}

/**
 * The levels of one pace, ascending by load. A load is left out if the table of the next higher one
 * serves it as well or is close; of the loads beyond the machine's capacity only the lowest is
 * kept.
 */
function paceLevels(
  { levels }: RamsisBundle,
  frame: RamsisFrame,
  pace: number,
): readonly RamsisPaceLevel[] {
  // Classes and buckets have several tables per level, so only the highest load has its own.
  const { isDivided, isPooled } = levelProblem(frame);
  if (isDivided && !DIVIDED_PACES.includes(pace)) return [];
  const isAlone = isPooled && !isDivided;
  const main = mainLoads(
    levels.map(({ loadQps }) => loadQps),
    CLOSE,
  );
  const asked = (isDivided ? levels.slice(-1) : [...levels].reverse())
    .map((level) => {
      const plan = planOfLevel(frame, level);
      const planned = planningFrame(frame, level.loadQps, plan);
      const isCarried = !isAlone || ramsis.carries(planned, level.loadQps);
      return { level, plan, planned, isCarried };
    })
    .filter(({ level, isCarried }, index, all) => {
      const isHighest = isCarried && all[index - 1]?.isCarried === false;
      const isBeyond = !isCarried && all[index + 1]?.isCarried === true;
      return main.has(level.loadQps) || isHighest || isBeyond;
    });
  const found: { level: RamsisPaceLevel; isCarried: boolean }[] = [];
  asked.forEach(({ level, plan, planned, isCarried }, index) => {
    const { loadQps } = level;
    if (!isCarried && asked[index + 1]?.isCarried === false) return;
    const above = found.at(-1);
    if (isAlone && above?.isCarried === true) {
      const moved = onSharedAxes(planned, frame, { ...level, ...above.level, loadQps }, plan);
      const { accuracyPerQuery, boundAccuracy } = ramsis.glimpse(planned, moved);
      if (accuracyPerQuery >= boundAccuracy - SHARED_ACCURACY) return;
    }
    const solved = isAlone
      ? { ...level, mixture: null, ...ramsis.slowedTable(planned, loadQps, 1, "brief") }
      : judgedLevel(planned, loadQps);
    const placed = onSharedAxes(frame, planned, solved, plan);
    const isKept = isAlone ? isCarried : solved.feasible;
    if (!isKept && above?.isCarried === false) found.pop();
    found.push({ level: tablesOf(placed, pace), isCarried: isKept });
  });
  return found.map(({ level }) => level).reverse();
}

function tablesOf(level: RamsisLevel, pace: number): RamsisPaceLevel {
  const { loadQps, marginMs, actionByState, classTables, bucketTables, mixture } = level;
  return {
    ...{ pace, loadQps, actionByState, mixture },
    ...(marginMs !== undefined && { marginMs }),
    ...(classTables !== undefined && { classTables }),
    ...(bucketTables !== undefined && { bucketTables }),
  };
}

function promisedAt(bundle: RamsisBundle, index: number, pace: number, seed = SEED): PaceFigures {
  const { loadQps = 0 } = bundle.levels[index] ?? {};
  const fromMs = WARM_BEATS * beatMsOf(bundle.slo);
  const result = withEnoughBatches((longer) =>
    simulate(bundle, {
      arrivals: steadyArrivals(bundle.arrivals, loadQps),
      durationMs: fromMs + (1000 * longer * PACE_QUERIES) / loadQps,
      counted: { fromMs, untilMs: Number.POSITIVE_INFINITY },
      seed,
      serviceTimes: isSampled(bundle) ? "sampled" : "p95",
      stations: { machine: { ...AS_PROFILED, pace } },
    }),
  );
  const { queries, satisfied, accuracyPerQuery, latencyMs, queueMs } = result;
  return {
    pace,
    accuracyPerQuery: accuracyPerQuery ?? 0,
    violationRate: queries === 0 ? 0 : (queries - satisfied) / queries,
    p50: latencyMs?.p50 ?? 0,
    p99: latencyMs?.p99 ?? 0,
    queueMs: latencyPromise(queueMs),
  };
}
