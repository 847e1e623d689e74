/**
 * RAMSIS (EuroSys 2024): which variant a worker runs its queued queries on, from an average-reward Markov decision process.
 *
 * This file ties the parts together: application → frame → worker problem → MDP → policy → table.
 */
import {
  type Bundle,
  type Expected,
  type Level,
  NO_ACTION,
  violationCeiling,
} from "../../../runtime/bundle/schema.ts";
import type { BundleFrame, Solver } from "../solver.ts";
import { fluidBound } from "./fluid-bound.ts";
import { ramsisFrame, ramsisMistakes } from "./frame.ts";
import type { Guarantees } from "./guarantees.ts";
import { evaluatePolicy, solvePolicy } from "./objective.ts";
import { admissibleVariants, buildWorkerMdp, type WorkerMdp } from "./worker-mdp.ts";
import { serviceTimeMs, type WorkerProblem } from "./worker-problem.ts";

export const ramsis: Solver = {
  mistakes: ramsisMistakes,
  frame: ramsisFrame,
  solveLevel,
  expectedOf,
};

function solveLevel(frame: BundleFrame, loadQps: number): Level {
  const problem = workerProblem(frame, loadQps);
  const mdp = buildWorkerMdp(problem, admissibleVariants(problem));
  const solved = solvePolicy(mdp, frame.policy.objective);
  const expected = promiseOf(solved.guarantees, problem);
  const capacityQps = fluidCapacityQps(problem);
  return {
    loadQps,
    feasible: loadQps <= capacityQps && expected.violationRate <= violationCeiling(frame.slo),
    capacityQps,
    expected,
    solve: {
      method: "value-iteration",
      iterations: solved.iterations,
      residual: solved.residual,
      states: mdp.stateCount,
    },
    actionByState: tableOf(frame, problem, mdp, solved.choice),
    mixture: null,
  };
}

/** The chain that a table drives: its process with one action per state. */
function expectedOf(frame: BundleFrame, level: Level): Expected {
  const problem = workerProblem(frame, level.loadQps);
  const actions = frame.decisionSpace.actions.data;
  const cells = level.actionByState.data;
  const mdp = buildWorkerMdp(problem, (_queued, _slackMs, state) => [
    actions[2 * (cells[state] ?? 0)] ?? 0,
  ]);
  const choice = mdp.actionStart.slice(0, mdp.stateCount);
  return promiseOf(evaluatePolicy(mdp, choice), problem);
}

function promiseOf({ meanBatch: _, ...guarantees }: Guarantees, problem: WorkerProblem): Expected {
  return { ...guarantees, upperBoundAccuracy: fluidBound(problem) };
}

function workerProblem(frame: BundleFrame, loadQps: number): WorkerProblem {
  const { variants, serviceTimes } = onlyTask(frame);
  return {
    workerCount: frame.cluster.pools.reduce((sum, pool) => sum + pool.workers, 0),
    arrivalRatePerMs: loadQps / 1000,
    slackMs: Float64Array.from(frame.decisionSpace.slackMs.data),
    maxQueue: frame.decisionSpace.maxQueue,
    variantCount: variants.length,
    accuracy: Float64Array.from(variants, (variant) => variant.accuracy),
    candidates: [...variants.keys()].filter((index) => variants[index]?.dominated === false),
    serviceMs: Float64Array.from(serviceTimes.decisionMs.data),
  };
}

/** Queries per second when every worker always runs the batch of highest throughput that still meets the SLO. */
function fluidCapacityQps(problem: WorkerProblem): number {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  let perMs = 0;
  for (const variant of problem.candidates) {
    for (let batch = 1; batch <= problem.maxQueue; batch++) {
      const ms = serviceTimeMs(problem, variant, batch);
      if (ms <= sloMs) perMs = Math.max(perMs, batch / ms);
    }
  }
  return problem.workerCount * perMs * 1000;
}

/** The chosen actions as a table over (queued, slack); cells are states in order, the last row is the full queue. */
function tableOf(
  frame: BundleFrame,
  problem: WorkerProblem,
  mdp: WorkerMdp,
  choice: Uint32Array,
): Level["actionByState"] {
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
    const variant = mdp.actionVariant[choice[state] ?? 0] ?? 0;
    data[cell] = indexOf.get(variant * (rowCount + 1) + (mdp.batch[state] ?? 0)) ?? NO_ACTION;
  }
  return { dtype: "uint16", shape: [rowCount, slackCount], data };
}

function onlyTask(frame: BundleFrame): Bundle["tasks"][number] {
  const [task] = frame.tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  return task;
}
