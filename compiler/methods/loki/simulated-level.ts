/** Expected figures of a plan: simulates it under its own load with the production code. */
import type {
  LokiBundle,
  LokiLevel,
  PipelineExpected,
} from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../model/frames.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import { expectedTimes, withEnoughBatches } from "../../simulate/latency-sample.ts";
import {
  type LokiSimulationOptions,
  type LokiSimulationResult,
  simulateLoki,
} from "./simulate/simulate.ts";
import type { PlannedLevel } from "./solve/loki.ts";
import { pipelineProblem } from "./solve/problem.ts";
import { type TaskSolver, taskPoliciesOf } from "./task-policies.ts";

const SEED = 1;
/**
 * Queries of all tasks to simulate for one level, and least requests: enough to determine a
 * violation rate of 1 % to about a tenth of it.
 */
const TASK_QUERIES = 200_000;
const LEAST_REQUESTS = 10_000;

/**
 * Fractions of a level's load at which tables are compared with fixed variants: the actual load is
 * usually below the level's.
 */
const TRIED_LOADS = [0.9, 1] as const;

/**
 * Adds simulated figures, and the tables of its stages, if the policy asks for them and they serve
 * requests more accurately.
 * @param planFrame the frame that it was planned with.
 */
export function predictLevel(
  stageSolver: TaskSolver,
  frame: LokiFrame,
  planFrame: LokiFrame,
  planned: PlannedLevel,
): LokiLevel {
  const transition = { modelLoadsFromBelow: null, modelLoadsFromAbove: null };
  const fixed: LokiLevel = { ...planned, stages: null, transition, expected: UNKNOWN };
  const stages = taskPoliciesOf(stageSolver, planFrame, planned);
  const level = stages === null ? fixed : moreAccurate(frame, fixed, { ...fixed, stages });
  return { ...level, expected: simulatedExpectation(frame, { levels: [level] }, level.loadQps) };
}

/**
 * Returns the second level only if it serves requests more accurately, late ones counting 0, on
 * average over the tried loads.
 */
function moreAccurate(frame: LokiFrame, first: LokiLevel, second: LokiLevel): LokiLevel {
  const accuracyOf = (level: LokiLevel): number =>
    TRIED_LOADS.reduce((sum, part) => {
      const { accuracyPerQuery } = simulatedExpectation(
        frame,
        { levels: [level] },
        part * level.loadQps,
      );
      return sum + accuracyPerQuery;
    }, 0);
  return accuracyOf(second) > accuracyOf(first) ? second : first;
}

const UNKNOWN: PipelineExpected = {
  accuracyPerSatisfied: 0,
  accuracyPerQuery: 0,
  violationRate: 0,
  latencyMsP50: 0,
  latencyMsP99: 0,
  seed: SEED,
  durationMs: 1,
};

/** @param plans to follow. The same arguments give the same numbers, bit for bit. */
export function simulatedExpectation(
  frame: LokiFrame,
  plans: Pick<LokiBundle, "levels" | "paceLevels">,
  loadQps: number,
): PipelineExpected {
  const outcome = withEnoughBatches((longer) =>
    simulatedOutcome(frame, plans, loadQps, { part: 1, longer }),
  );
  return {
    accuracyPerSatisfied: outcome.accuracyPerSatisfied ?? 0,
    accuracyPerQuery: outcome.accuracyPerQuery ?? 0,
    violationRate: outcome.violationRate,
    ...expectedTimes(outcome),
    seed: SEED,
    durationMs: outcome.durationMs,
  };
}

interface OutcomeOptions
  extends Pick<LokiSimulationOptions, "stations" | "onOutcome" | "countedFromMs"> {
  /** Default: the seed of promises. */
  readonly seed?: number;
  /** Fraction of a promise's queries to simulate. */
  readonly part: number;
  /** Factor of the duration; default: 1. */
  readonly longer?: number;
  /** Additional simulated time. */
  readonly beforeMs?: number;
}

/** @param plans to follow. */
export function simulatedOutcome(
  frame: LokiFrame,
  { levels, paceLevels }: Pick<LokiBundle, "levels" | "paceLevels">,
  loadQps: number,
  { part, longer = 1, beforeMs = 0, seed = SEED, ...options }: OutcomeOptions,
): LokiSimulationResult {
  const { arrivals } = frame;
  const bundle: LokiBundle = {
    ...frame,
    levels,
    ...(paceLevels !== undefined && { paceLevels }),
    provenance: { compiler: "", inputs: [] },
  };
  return simulateLoki(bundle, {
    ...options,
    arrivals: steadyArrivals(arrivals, loadQps),
    durationMs: beforeMs + longer * durationFor(frame, loadQps, part),
    seed,
    serviceTimes:
      frame.cluster.serving !== undefined && havePipelineQuantiles(frame.tasks) ? "sampled" : "p95",
    fanout: "rounded",
  });
}

function durationFor(frame: LokiFrame, loadQps: number, part: number): number {
  const { tasks } = pipelineProblem(frame);
  // Queries of each task per request, if every task runs the variant with the largest fan-out to
  // it.
  const perRequest = tasks.map(({ parent, entryShare }) => (parent === null ? entryShare : 0));
  for (const [task, { children, variants }] of tasks.entries()) {
    for (const [position, child] of children.entries()) {
      const most = Math.max(...variants.map(({ fanouts }) => fanouts[position] ?? 0));
      perRequest[child] = (perRequest[task] ?? 0) * most;
    }
  }
  const queries = perRequest.reduce((sum, count) => sum + count, 0);
  // Requests may have no query at all.
  const enough = queries === 0 ? 0 : (part * TASK_QUERIES) / queries;
  const requests = Math.max(LEAST_REQUESTS, enough);
  return (1000 * requests) / loadQps;
}
