/**
 * RAMSIS (EuroSys 2024): which variant a worker runs its queued queries on, from an average-reward
 * Markov decision process.
 *
 * This file ties the parts together: application → frame → worker problem → MDP → policy → table.
 */
import {
  type ActionValues,
  type Expected,
  NO_ACTION,
  type NoActionValues,
  type RamsisBundle,
  type RamsisLevel,
  type Table,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { KNOT_COUNT, quantileKnots } from "stratagem-runtime/internal/core/quantile-distribution";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import type { RamsisFrame } from "../../../model/frames.ts";
import type { ModelFiles } from "../../../model/model-files.ts";
import type { Application, RamsisPolicy } from "../../../spec/application.ts";
import { actionValues } from "./action-values.ts";
import { dispersionOfModel } from "./arrival-counts.ts";
import { fluidBound } from "./fluid-bound.ts";
import { ramsisFrame } from "./frame.ts";
import type { Guarantees } from "./guarantees.ts";
import { latencyObjective, targetExcess } from "./latency-objective.ts";
import { ramsisMistakes } from "./mistakes.ts";
import { evaluatePolicy, pure, type SolvedPolicy, solvePolicy } from "./objective.ts";
import type { SearchEffort } from "./pooled/policy-search.ts";
import {
  expectedOfPooled,
  glimpseOfPooled,
  pooledValues,
  solvePooled,
  solveSlowed,
  TWO_TABLES,
} from "./pooled/pooled.ts";
import { joinShortestQueue } from "./shortest-queue.ts";
import { stateIndex } from "./transitions.ts";
import { solveWithin } from "./violation-ceiling.ts";
import { withHop } from "./with-hop.ts";
import { admissibleActions, buildWorkerMdp, type WorkerMdp } from "./worker-mdp.ts";
import {
  type Action,
  isSame,
  meanServiceMs,
  serviceTimeMs,
  type WorkerProblem,
} from "./worker-problem.ts";

type RamsisApplication = Application<RamsisPolicy>;

/** A level without its promises. */
export type LevelTables = Omit<RamsisLevel, "expected" | "feasible">;

export const ramsis = {
  mistakes: (application: RamsisApplication) => ramsisMistakes(withHop(application)),
  frame: (application: RamsisApplication, models: ModelFiles) =>
    ramsisFrame(withHop(application), models),
  /** Computes the policy for one load. The same frame and load give the same level, bit for bit. */
  solveLevel: (frame: RamsisFrame, loadQps: number): RamsisLevel =>
    isPooled(frame)
      ? withTableOf(frame, loadQps, solvePooledTables(frame, loadQps))
      : solveLevel(frame, loadQps),
  /** The policy of one load whose queries share a queue, without its promises. */
  solvePooledTables,
  /** The level of a load with the tables of another level, and their promises at this load. */
  withTableOf,
  /** Recomputes the promises of a level's policy, from its tables alone. */
  expectedOf: (frame: RamsisFrame, level: LevelTables): Expected =>
    (isPooled(frame) ? expectedOfPooledLevel : expectedOf)(frame, level),
  /** The table of a queue whose workers serve other queues too. */
  slowedTable,
  /** Figures of a level's tables from a short sample, and the upper bound on its accuracy. */
  glimpse,
  /** Whether workers have the time for a load in batches that end within the SLO. */
  carries: (frame: RamsisFrame, loadQps: number): boolean =>
    loadQps <= fluidCapacityQps(workerProblem(frame, loadQps), workerCountOf(frame)),
  /** Worth of the actions of a state if a level decides afterwards, from its tables alone. */
  actionValues: actionValuesOf,
};

/** Whether all workers share one queue. */
function isPooled({ policy }: Pick<RamsisFrame, "policy">): boolean {
  return policy.balancer === "pooled";
}

function solvePooledTables(frame: RamsisFrame, loadQps: number): LevelTables {
  const problem = workerProblem(frame, loadQps);
  const bound = fluidBound(problem, violationCeiling(frame.slo));
  const { actionByState, mixture, method, tries } = solvePooled(frame, problem, loadQps, bound);
  return {
    loadQps,
    capacityQps: fluidCapacityQps(problem, workerCountOf(frame)),
    solve: {
      method,
      iterations: tries,
      residual: 0,
      states: actionByState.data.length,
    },
    actionByState,
    mixture,
  };
}

/**
 * The best table of a queue whose workers serve other queues too.
 * @param frame of the queue alone.
 * @param slowdown as in a pooled problem.
 */
function slowedTable(frame: RamsisFrame, loadQps: number, slowdown: number, effort?: SearchEffort) {
  const problem = workerProblem(frame, loadQps);
  const slowed = { ...problem, arrivalRatePerMs: slowdown * problem.arrivalRatePerMs };
  const bound = fluidBound(slowed, violationCeiling(frame.slo));
  return solveSlowed(frame, slowed, loadQps, slowdown, bound, effort);
}

function glimpse(frame: RamsisFrame, level: LevelTables) {
  const { loadQps } = level;
  const problem = workerProblem(frame, loadQps);
  return {
    ...glimpseOfPooled(frame, level),
    boundAccuracy: fluidBound(problem, violationCeiling(frame.slo)).accuracy,
  };
}

function withTableOf(frame: RamsisFrame, loadQps: number, level: LevelTables): RamsisLevel {
  const moved = { ...level, loadQps };
  const expected = (isPooled(frame) ? expectedOfPooledLevel : expectedOf)(frame, moved);
  return { ...moved, ...keptAt(frame, loadQps, level.capacityQps, expected), expected };
}

/**
 * Returns whether a level keeps its limits: its load is then within capacity, whatever was planned.
 * Targets of latency count only if latencies are known: for queues per worker they are simulated
 * later.
 */
export function keptAt(
  { slo }: Pick<RamsisFrame, "slo">,
  loadQps: number,
  capacityQps: number,
  { violationRate, byClass = {}, latencyMs }: Omit<Expected, LevelBounds>,
): Pick<RamsisLevel, "feasible" | "capacityQps"> {
  const { p50 = 0, p95 = 0 } = latencyMs ?? {};
  const rates = Object.values(byClass).map((one) => one.violationRate);
  const isKept = Math.max(violationRate, ...rates) <= violationCeiling(slo);
  const feasible = isKept && targetExcess(slo, { p50, p95 }) === 0;
  return { feasible, capacityQps: feasible ? Math.max(capacityQps, loadQps) : capacityQps };
}

type LevelBounds = "upperBoundAccuracy" | "servedBoundAccuracy";

function expectedOfPooledLevel(frame: RamsisFrame, level: LevelTables): Expected {
  return withBounds(frame, workerProblem(frame, level.loadQps), expectedOfPooled(frame, level));
}

/**
 * Upper bound on the accuracy per query at a load of any policy that violates at most this share of
 * its queries.
 */
export function accuracyBound(
  frame: RamsisFrame,
  loadQps: number,
  maxViolationRate: number,
): number {
  return fluidBound(workerProblem(frame, loadQps), maxViolationRate).accuracy;
}

/** Adds the upper bounds to the promises; a sample exceeds them only by chance. */
function withBounds<Figures extends Pick<Expected, "accuracyPerQuery" | "violationRate">>(
  { slo }: RamsisFrame,
  problem: WorkerProblem,
  figures: Figures,
): Figures & Pick<Expected, "upperBoundAccuracy" | "servedBoundAccuracy"> {
  const allowed = Math.min(1, Math.max(violationCeiling(slo), figures.violationRate));
  const upperBoundAccuracy = fluidBound(problem, allowed).accuracy;
  return {
    ...figures,
    accuracyPerQuery: Math.min(figures.accuracyPerQuery, upperBoundAccuracy),
    upperBoundAccuracy,
    servedBoundAccuracy: fluidBound(problem, 0).accuracy,
  };
}

function solveLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const problem = workerProblem(frame, loadQps);
  const mdp = buildWorkerMdp(problem, admissibleActions(problem));
  const solved = solve(frame, mdp);
  const expected = promiseOf(frame, solved.guarantees, problem);
  const table = (choice: Uint32Array) => tableOf(frame, problem, mdp, choice);
  return {
    loadQps,
    ...keptAt(frame, loadQps, fluidCapacityQps(problem, workerCountOf(frame)), expected),
    expected,
    solve: {
      method: "value-iteration",
      iterations: solved.iterations,
      residual: solved.residual,
      states: mdp.stateCount,
    },
    actionByState: table(solved.choice),
    mixture:
      solved.mixture === null
        ? null
        : { share: solved.mixture.share, actionByState: table(solved.mixture.choice) },
  };
}

/**
 * A ceiling on violations constrains the objective per query; the paper's, per decision, has none.
 */
function solve({ slo, policy }: RamsisFrame, mdp: WorkerMdp): SolvedPolicy {
  const { safePrice } = latencyObjective(policy);
  return slo.maxViolationRate === null || policy.objective === "per-decision"
    ? solvePolicy(mdp, policy.objective, safePrice)
    : solveWithin(mdp, slo.maxViolationRate, safePrice);
}

/** The chain that the tables of a level drive: its process with only their actions. */
function expectedOf(frame: RamsisFrame, level: LevelTables): Expected {
  const problem = workerProblem(frame, level.loadQps);
  const first = actionsOf(frame, level.actionByState);
  const second = level.mixture && actionsOf(frame, level.mixture.actionByState);
  const mdp = buildWorkerMdp(problem, (_queued, _slackMs, state) => {
    const [one, other] = [first(state), second?.(state) ?? first(state)];
    return isSame(one, other) ? [one] : [one, other];
  });
  const choice = mdp.actionStart.slice(0, mdp.stateCount);
  if (level.mixture === null) return promiseOf(frame, evaluatePolicy(mdp, pure(choice)), problem);
  const { share } = level.mixture;
  const lastAction = choice.map((_, state) => (mdp.actionStart[state + 1] ?? 0) - 1);
  const policy = [
    { share: 1 - share, choice },
    { share, choice: lastAction },
  ];
  return promiseOf(frame, evaluatePolicy(mdp, policy), problem);
}

function actionValuesOf(
  frame: RamsisFrame,
  level: RamsisLevel,
  queued: number,
  slackMs: number,
): ActionValues | NoActionValues {
  const { loadQps, actionByState, mixture } = level;
  if (isPooled(frame)) {
    const worker = workerProblem(frame, loadQps);
    const bound = fluidBound(worker, violationCeiling(frame.slo));
    return pooledValues(frame, worker, level, bound, { queued, slackMs });
  }
  if (mixture !== null) return TWO_TABLES;
  const problem = workerProblem(frame, loadQps);
  const { objective } = frame.policy;
  const { maxViolationRate } = frame.slo;
  const latencyPrice = latencyObjective(frame.policy).safePrice;
  const actionOf = actionsOf(frame, actionByState);
  const table = { objective, maxViolationRate, latencyPrice, actionOf };
  return actionValues(problem, table, stateOf(problem, queued, slackMs));
}

/**
 * The state that the runtime looks up: slack rounded down to the grid, and the full queue for
 * longer queues.
 */
function stateOf({ maxQueue, slackMs: grid }: WorkerProblem, queued: number, slackMs: number) {
  if (queued > maxQueue) return maxQueue * grid.length;
  const slack = grid.findLastIndex((ms) => ms <= slackMs);
  return stateIndex(grid.length, queued, Math.max(0, slack));
}

/**
 * Actions of a table for each state: cells are states in order, and the last row is the full queue.
 */
function actionsOf({ decisionSpace }: RamsisFrame, table: RamsisLevel["actionByState"]) {
  const actions = decisionSpace.actions.data;
  return (state: number): Action => {
    const action = table.data[state] ?? 0;
    return { variant: actions[2 * action] ?? 0, batch: actions[2 * action + 1] ?? 0 };
  };
}

function promiseOf(
  frame: RamsisFrame,
  { meanBatch: _, meanLatency: __, ...guarantees }: Guarantees,
  problem: WorkerProblem,
): Expected {
  return withBounds(frame, problem, guarantees);
}

/** The problem of one worker of a frame of one SLO at a load. */
export function workerProblem(frame: RamsisFrame, loadQps: number): WorkerProblem {
  const { variants, serviceTimes } = onlyTask(frame);
  const { arrivals, policy, decisionSpace } = frame;
  const arrivalRatePerMs = loadQps / 1000;
  const problem: WorkerProblem = {
    workerCount: workerCountOf(frame),
    arrivalRatePerMs,
    crowdedRatePerMs: null,
    dispersion: dispersionOfModel(arrivals),
    slackMs: Float64Array.from(decisionSpace.slackMs.data),
    maxQueue: policy.maxQueue,
    partialBatches: policy.batching === "variable",
    variantCount: variants.length,
    accuracy: Float64Array.from(variants, (variant) => variant.accuracy),
    largestBatch: largestByVariant(frame, variants.length),
    candidates: [...variants.keys()].filter((index) => variants[index]?.dominated === false),
    serviceMs: Float64Array.from(serviceTimes.decisionMs.data),
    serviceKnotsMs: policy.serviceTimes === "quantiles" ? knotsOf(serviceTimes) : null,
  };
  return policy.balancer === "shortest-queue" ? joinShortestQueue(problem) : problem;
}

function largestByVariant({ decisionSpace }: RamsisFrame, variantCount: number): Uint32Array {
  const largest = new Uint32Array(variantCount);
  const actions = decisionSpace.actions.data;
  for (let action = 0; action < actions.length; action += 2) {
    const [variant = 0, batch = 0] = actions.subarray(action, action + 2);
    largest[variant] = Math.max(largest[variant] ?? 0, batch);
  }
  return largest;
}

function knotsOf({ quantiles }: RamsisBundle["tasks"][number]["serviceTimes"]): Float64Array {
  if (quantiles === null) throw new TypeError("ramsisMistakes requires quantiles");
  const { p50Ms, p95Ms, p99Ms, meanMs } = quantiles;
  const knots = new Float64Array(p50Ms.data.length * KNOT_COUNT);
  const at = (table: Table, cell: number): number => table.data[cell] ?? Number.NaN;
  for (let cell = 0; cell < p50Ms.data.length; cell++) {
    knots.set(
      quantileKnots(at(p50Ms, cell), at(p95Ms, cell), at(p99Ms, cell), at(meanMs, cell)),
      cell * KNOT_COUNT,
    );
  }
  return knots;
}

/**
 * Queries per second when every worker always runs the batch of highest throughput that still meets
 * the SLO.
 */
function fluidCapacityQps(problem: WorkerProblem, workerCount: number): number {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  let perMs = 0;
  for (const variant of problem.candidates) {
    const largest = problem.largestBatch[variant] ?? 0;
    for (let batch = 1; batch <= largest; batch++) {
      const inTime = serviceTimeMs(problem, variant, batch) <= sloMs;
      if (inTime) perMs = Math.max(perMs, batch / meanServiceMs(problem, variant, batch));
    }
  }
  return workerCount * perMs * 1000;
}

/**
 * The chosen actions as a table over (queued, slack); cells are states in order, the last row is
 * the full queue.
 */
function tableOf(
  frame: RamsisFrame,
  problem: WorkerProblem,
  mdp: WorkerMdp,
  choice: Uint32Array,
): RamsisLevel["actionByState"] {
  const rowCount = problem.maxQueue + 1;
  const slackCount = problem.slackMs.length;
  const actions = frame.decisionSpace.actions.data;
  const indexOf = new Map<number, number>();
  for (let action = 0; 2 * action < actions.length; action++) {
    indexOf.set(
      (actions[2 * action] ?? 0) * (rowCount + 1) + (actions[2 * action + 1] ?? 0),
      action,
    );
  }
  const data = new Uint16Array(rowCount * slackCount);
  for (let cell = 0; cell < data.length; cell++) {
    const state = Math.min(cell, mdp.stateCount - 1);
    const chosen = choice[state] ?? 0;
    const variant = mdp.actionVariant[chosen] ?? 0;
    data[cell] =
      indexOf.get(variant * (rowCount + 1) + (mdp.actionBatch[chosen] ?? 0)) ?? NO_ACTION;
  }
  return { dtype: "uint16", shape: [rowCount, slackCount], data };
}

function onlyTask(frame: RamsisFrame): RamsisBundle["tasks"][number] {
  const [task] = frame.tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  return task;
}
