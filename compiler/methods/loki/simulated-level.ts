/** What to expect of a plan: a simulation of it under its own load, by the code that follows it. */
import type {
  LokiBundle,
  LokiLevel,
  PipelineExpected,
} from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../model/frames.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import { expectedLatency } from "../../simulate/latency-sample.ts";
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
 * Queries of all tasks that one level is simulated for, and requests at least: enough to tell a
 * violation rate of 1 % to about a tenth of it.
 */
const TASK_QUERIES = 200_000;
const LEAST_REQUESTS = 10_000;

/**
 * Parts of a level's load at which tables are weighed against fixed variants: it mostly answers for
 * less than its load.
 */
const TRIED_LOADS = [0.9, 1] as const;

/**
 * Adds what a simulation gives, and the tables of its stages, where the policy asks for them and
 * they serve requests more accurately.
 * @param reckoned the frame that it was planned with.
 */
export function predictLevel(
  stageSolver: TaskSolver,
  frame: LokiFrame,
  reckoned: LokiFrame,
  planned: PlannedLevel,
): LokiLevel {
  const transition = { modelLoadsFromBelow: null, modelLoadsFromAbove: null };
  const fixed: LokiLevel = { ...planned, stages: null, transition, expected: UNKNOWN };
  const stages = taskPoliciesOf(stageSolver, reckoned, planned);
  const level = stages === null ? fixed : moreAccurate(frame, fixed, { ...fixed, stages });
  return { ...level, expected: simulatedExpectation(frame, { levels: [level] }, level.loadQps) };
}

/**
 * The second only if it serves requests more accurately, late ones counting nothing, in the mean
 * over the loads that are tried.
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

/** @param plans what is followed. The same give the same numbers, bit for bit. */
export function simulatedExpectation(
  frame: LokiFrame,
  plans: Pick<LokiBundle, "levels" | "paceLevels">,
  loadQps: number,
): PipelineExpected {
  const outcome = simulatedOutcome(frame, plans, loadQps, { part: 1 });
  return {
    accuracyPerSatisfied: outcome.accuracyPerSatisfied ?? 0,
    accuracyPerQuery: outcome.accuracyPerQuery ?? 0,
    violationRate: outcome.violationRate,
    ...expectedLatency(outcome.latencyMs),
    seed: SEED,
    durationMs: outcome.durationMs,
  };
}

interface OutcomeOptions extends Pick<LokiSimulationOptions, "stations" | "onOutcome"> {
  /** That of promises if left out. */
  readonly seed?: number;
  /** Part of the queries of a promise that are simulated. */
  readonly part: number;
  /** Time that is simulated besides. */
  readonly beforeMs?: number;
}

/** @param plans what is followed. */
export function simulatedOutcome(
  frame: LokiFrame,
  { levels, paceLevels }: Pick<LokiBundle, "levels" | "paceLevels">,
  loadQps: number,
  { part, beforeMs = 0, seed = SEED, ...options }: OutcomeOptions,
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
    durationMs: beforeMs + durationFor(frame, loadQps, part),
    seed,
    serviceTimes:
      frame.cluster.serving !== undefined && havePipelineQuantiles(frame.tasks) ? "sampled" : "p95",
    fanout: "rounded",
  });
}

function durationFor(frame: LokiFrame, loadQps: number, part: number): number {
  const { tasks } = pipelineProblem(frame);
  // Queries of each task per request, if every task runs the variant that sends the most to it.
  const perRequest = tasks.map(({ parent, entryShare }) => (parent === null ? entryShare : 0));
  for (const [task, { children, variants }] of tasks.entries()) {
    for (const [position, child] of children.entries()) {
      const most = Math.max(...variants.map(({ fanouts }) => fanouts[position] ?? 0));
      perRequest[child] = (perRequest[task] ?? 0) * most;
    }
  }
  const queries = perRequest.reduce((sum, count) => sum + count, 0);
  const requests = Math.max(LEAST_REQUESTS, (part * TASK_QUERIES) / queries);
  return (1000 * requests) / loadQps;
}
