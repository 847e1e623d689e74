/**
 * A level of a bundle with the serving path: planned with it, and promised by simulations with the
 * server's process, contention and measured service times.
 */
import type {
  ScaleExpected,
  ScalePlan,
  ThemisBundle,
  ThemisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { depthOf } from "../../graph/depth.ts";
import type { ThemisFrame } from "../../model/frames.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { expectedTimes, withEnoughBatches } from "../../simulate/latency-sample.ts";
import { settledPlan } from "../../simulate/serving/planned-contention.ts";
import { planningFrame } from "./planning-frame.ts";
import { haveBatchQuantiles } from "./simulate/drawn-batch-times.ts";
import { simulateThemis } from "./simulate/simulate.ts";
import { JUDGED_REQUESTS } from "./solve/plan-judge.ts";
import { type PromisedPlans, themis } from "./solve/themis.ts";

const SEED = 1;

type Scaler = ReturnType<typeof themis.open>;

/** @param scalerOf caches the results for a frame. */
export async function servedLevel(
  frame: ThemisFrame,
  loadQps: number,
  scalerOf: (frame: ThemisFrame) => Scaler,
): Promise<ThemisLevel> {
  const level = await settledPlan(
    frame.cluster,
    { loadQps, batches: depthOf(frame.tasks) },
    (stretch) => {
      const planned = planningFrame(frame, stretch);
      if (stretch > 1 && !themis.isServable(planned)) return null;
      return scalerOf(planned).scaleLevel(loadQps);
    },
    ({ steady }) => steady.cores,
  );
  return { ...level, ...servedExpectation(frame, level) };
}

/** Promises of a level's plans, from the bundle alone: the same numbers for the same plans. */
export function servedExpectation(frame: ThemisFrame, level: ThemisLevel): PromisedPlans {
  const at = (plan: ScalePlan, qps: number): ScalePlan => {
    return { ...plan, expected: expectedOf(frame, level, plan, qps) };
  };
  const { horizontal, vertical, joint, steady, loadQps, capacityQps } = level;
  return {
    horizontal: horizontal && at(horizontal, loadQps),
    vertical: vertical && at(vertical, loadQps),
    joint: joint && at(joint, loadQps),
    steady: at(steady, capacityQps),
  };
}

/** Requests to simulate for a level: enough to determine the cores held. */
const FOLLOWED_REQUESTS = 20_000;

/** Simulates the whole bundle at the load of a level. */
export function followedExpectation(bundle: ThemisBundle, level: ThemisLevel): ScaleExpected {
  const { cluster, arrivals, tasks } = bundle;
  const qps = level.capacityQps;
  const outcome = withEnoughBatches((longer) =>
    simulateThemis(bundle, {
      arrivals: steadyArrivals(arrivals, qps),
      durationMs: (1000 * longer * FOLLOWED_REQUESTS) / qps,
      seed: SEED,
      serviceTimes: cluster.serving !== undefined && haveBatchQuantiles(tasks) ? "sampled" : "p95",
    }),
  );
  const { queries, violationRate, cores, costPerHour } = outcome;
  return {
    violationRate,
    ...expectedTimes(outcome),
    requests: queries,
    seed: SEED,
    cores: cores.mean,
    ...(costPerHour !== undefined && { costPerHour }),
  };
}

function expectedOf(
  frame: ThemisFrame,
  level: ThemisLevel,
  plan: ScalePlan,
  qps: number,
): ScaleExpected {
  const { arrivals, tasks } = frame;
  const cells = plan.stages.flatMap(({ batch, cores }) => [batch, cores, 0]);
  const shape = [1, 1, plan.stages.length, 3];
  const bundle: ThemisBundle = {
    ...frame,
    transitions: { dtype: "uint16", shape, data: Uint16Array.from(cells) },
    levels: [{ ...level, loadQps: qps, capacityQps: qps, steady: plan }],
    provenance: { compiler: "", inputs: [] },
  };
  const outcome = withEnoughBatches((longer) =>
    simulateThemis(bundle, {
      arrivals: steadyArrivals(arrivals, qps),
      durationMs: (1000 * longer * JUDGED_REQUESTS) / qps,
      seed: SEED,
      serviceTimes: haveBatchQuantiles(tasks) ? "sampled" : "p95",
      level: 0,
    }),
  );
  return {
    violationRate: outcome.violationRate,
    ...expectedTimes(outcome),
    requests: outcome.queries,
    seed: SEED,
  };
}
