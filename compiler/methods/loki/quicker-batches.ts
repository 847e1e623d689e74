/** Chooses batch sizes with less latency, among plans with the same servers and paths. */
import type { LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../model/frames.ts";
import type { PipelineProblem } from "../../model/pipeline.ts";
import { simulatedExpectation, simulatedOutcome } from "./simulated-level.ts";
import { solverPlan } from "./solve/bundled-plan.ts";
import { checkPlan } from "./solve/plan/check-plan.ts";
import { pipelineProblem } from "./solve/problem.ts";

/** Fraction of a promise's queries that one try is simulated for. */
const TRY_PART = 1 / 32;
/** Accuracy difference per request that counts as equal in a simulation. */
const EQUAL_ACCURACY = 1e-4;
/** Least relative reduction of the mean latency for which a batch is changed. */
const LEAST_GAIN = 0.005;

/** Figures of a simulated level. */
interface TriedLatency {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly accuracyPerQuery: number;
}

/**
 * Tries the other batch sizes of every instance, one instance at a time, and keeps those that lower
 * the mean latency without a higher 99th percentile or a lower accuracy. The objective of the plan
 * does not include latency, so it usually has the batch size with the highest throughput, in which
 * queries wait for each other.
 * @param level with its promise.
 * @param planFrame the frame that it was planned with.
 * @returns a level with the same servers, variants and paths, and its promise; the level itself if
 * no other promise is better. A level with tables is unchanged: they choose batch sizes.
 */
export function quickerBatches(
  frame: LokiFrame,
  planFrame: LokiFrame,
  level: LokiLevel,
): LokiLevel {
  if (level.stages !== null) return level;
  const batches = quickest(pipelineProblem(planFrame), level, (tried) => triedIn(frame, tried));
  if (batches === level) return level;
  const expected = simulatedExpectation(frame, { levels: [batches] }, batches.loadQps);
  const isBetter =
    isAsAccurate(expected, level.expected) && expected.latencyMsP99 <= level.expected.latencyMsP99;
  return isBetter ? { ...batches, expected } : level;
}

/** @param tryLevel simulates a level; the same level gives the same numbers. */
export function quickest(
  problem: PipelineProblem,
  level: LokiLevel,
  tryLevel: (level: LokiLevel) => TriedLatency,
): LokiLevel {
  let best = level;
  let found = tryLevel(level);
  for (let isLower = true; isLower; ) {
    isLower = false;
    for (const other of neighbours(problem, best)) {
      const tried = tryLevel(other);
      if (!isQuicker(tried, found)) continue;
      best = other;
      found = tried;
      isLower = true;
    }
  }
  return best;
}

function isQuicker(one: TriedLatency, other: TriedLatency): boolean {
  const isSooner = one.p99Ms <= other.p99Ms && one.meanMs < other.meanMs * (1 - LEAST_GAIN);
  return isSooner && isAsAccurate(one, other);
}

function isAsAccurate(
  one: Pick<TriedLatency, "accuracyPerQuery">,
  other: Pick<TriedLatency, "accuracyPerQuery">,
): boolean {
  return one.accuracyPerQuery >= other.accuracyPerQuery - EQUAL_ACCURACY;
}

/** Plans with another batch size at one instance that carry the plan's load in time. */
function neighbours(problem: PipelineProblem, level: LokiLevel): LokiLevel[] {
  const { plan } = level;
  return plan.instances.flatMap((instance, index) => {
    const { task, variant, pool, batch } = instance;
    const configurations = problem.tasks[task]?.variants[variant]?.configurations ?? [];
    return configurations
      .filter((one) => one.pool === pool && one.batch !== batch)
      .map((one) => {
        const instances = plan.instances.with(index, { ...instance, ...one });
        return { ...level, plan: { ...plan, instances } };
      })
      .filter((one) => {
        const checked = solverPlan(problem, one.plan);
        return checkPlan(problem, plan.demandQps, checked).length === 0;
      });
  });
}

function triedIn(frame: LokiFrame, level: LokiLevel): TriedLatency {
  const { accuracyPerQuery, latencyMs } = simulatedOutcome(
    frame,
    { levels: [level] },
    level.loadQps,
    { part: TRY_PART },
  );
  return {
    meanMs: latencyMs?.mean ?? Number.POSITIVE_INFINITY,
    p99Ms: latencyMs?.p99 ?? Number.POSITIVE_INFINITY,
    accuracyPerQuery: accuracyPerQuery ?? 0,
  };
}
