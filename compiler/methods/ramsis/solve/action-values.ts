/**
 * Relative values of the actions of one state, with the table deciding afterwards: Q(s, a) − max
 * Q(s, ·).
 *
 * The table is evaluated, not solved again: in its own process, with every admissible action in
 * that one state only. The values are those of the average-reward process, with the reward of the
 * objective at the ratio that the table attains (`objective.ts`).
 */
import type {
  ActionValue,
  ActionValues,
  NoActionValues,
  RamsisOptions,
} from "stratagem-runtime/internal/bundle/schema";
import { multiplyRows } from "../../../numeric/csr.ts";
import {
  evaluatePolicy,
  MAX_SWEEPS,
  pure,
  queryWorth,
  ratioReward,
  VALUE_TOLERANCE,
} from "./objective.ts";
import { iterateValues } from "./value-iteration.ts";
import { admissibleActions, buildWorkerMdp, type WorkerMdp } from "./worker-mdp.ts";
import { type Action, isSame, type WorkerProblem } from "./worker-problem.ts";

/**
 * Advantages are rounded to one part in this many; finer differences are residuals of value
 * iteration.
 */
const PARTS = 1e8;

/**
 * A table whose violations are at least this share of the ceiling may have been bound by it; its
 * mixtures are closer than that.
 */
const BINDING_SHARE = 0.99;

interface EvaluatedTable {
  readonly objective: RamsisOptions["objective"];
  readonly maxViolationRate: number | null;
  /** In accuracy per SLO of mean latency. */
  readonly latencyPrice: number;
  readonly actionOf: (state: number) => Action;
}

export function actionValues(
  problem: WorkerProblem,
  table: EvaluatedTable,
  state: number,
): ActionValues | NoActionValues {
  const mdp = buildAround(problem, table.actionOf, state);
  const choice = choiceIn(mdp, table.actionOf(state), state);
  const { accuracyPerQuery, meanLatency, violationRate } = evaluatePolicy(mdp, pure(choice));
  const isPerQuery = table.objective === "per-query";
  if (isPerQuery && isBinding(violationRate, table.maxViolationRate)) {
    return {
      reason: "the decision depends on the ceiling on violations too, not only on accuracy",
    };
  }
  const reward = isPerQuery
    ? ratioReward(
        mdp,
        queryWorth(mdp, table.latencyPrice),
        accuracyPerQuery - table.latencyPrice * meanLatency,
      )
    : mdp.actionAccuracy;
  const worth = worthOfActions(mdp, reward, choice, state);
  return { unit: isPerQuery ? "queries" : "decisions", actions: ranked(mdp, worth, choice, state) };
}

function isBinding(violationRate: number, ceiling: number | null): boolean {
  return ceiling !== null && violationRate >= BINDING_SHARE * ceiling;
}

/** The process that the table drives, with all admissible actions added in one state. */
function buildAround(
  problem: WorkerProblem,
  actionOf: EvaluatedTable["actionOf"],
  state: number,
): WorkerMdp {
  const admissible = admissibleActions(problem);
  return buildWorkerMdp(
    problem,
    (queued, slackMs, at) => {
      const chosen = actionOf(at);
      if (at !== state) return [chosen];
      const all = admissible(queued, slackMs, at);
      return all.some((action) => isSame(action, chosen)) ? all : [...all, chosen];
    },
    state,
  );
}

/** The table's choice as indices of actions, shape (stateCount,). */
function choiceIn(mdp: WorkerMdp, chosen: Action, state: number): Uint32Array {
  const choice = mdp.actionStart.slice(0, mdp.stateCount);
  for (const action of actionsIn(mdp, state)) {
    if (isSame(actionAt(mdp, action), chosen)) choice[state] = action;
  }
  return choice;
}

function actionsIn({ actionStart }: WorkerMdp, state: number): number[] {
  const start = actionStart[state] ?? 0;
  return Array.from({ length: (actionStart[state + 1] ?? 0) - start }, (_, index) => start + index);
}

function actionAt({ actionVariant, actionBatch }: WorkerMdp, action: number): Action {
  return { variant: actionVariant[action] ?? 0, batch: actionBatch[action] ?? 0 };
}

/**
 * Q of every action of a state, up to a constant.
 * @param reward shape (actionCount,).
 */
function worthOfActions(
  mdp: WorkerMdp,
  reward: Float64Array,
  choice: Uint32Array,
  state: number,
): number[] {
  const actions = actionsIn(mdp, state);
  // A reward far below all others is never chosen, so the values are those of the table.
  const held = reward.slice();
  for (const action of actions) {
    if (action !== choice[state]) held[action] = Number.NEGATIVE_INFINITY;
  }
  const options = { tolerance: VALUE_TOLERANCE, maxSweeps: MAX_SWEEPS };
  const { value } = iterateValues(mdp, held, new Float64Array(mdp.stateCount), options);
  const { rowCount, start, column, probability } = mdp.transitions;
  const rowValue = new Float64Array(rowCount);
  multiplyRows(rowCount, start, column, probability, value, rowValue);
  return actions.map((action) => (reward[action] ?? 0) + valueAfter(mdp, rowValue, action, state));
}

/** Expected value of the next state. */
function valueAfter(mdp: WorkerMdp, rowValue: Float64Array, action: number, state: number): number {
  const row = mdp.actionRow[action] ?? 0;
  if (row >= mdp.directStart) return rowValue[row] ?? 0;
  let value = 0;
  for (let phase = mdp.phaseStart[state] ?? 0; phase < (mdp.phaseEnd[state] ?? 0); phase++) {
    const weight = mdp.phaseWeight[state * mdp.phaseCount + phase] ?? 0;
    value += weight * (rowValue[row + phase] ?? 0);
  }
  return value;
}

/** Sorts the best first; ties go to the table's own action, then to the order of the process. */
function ranked(
  mdp: WorkerMdp,
  worth: readonly number[],
  choice: Uint32Array,
  state: number,
): ActionValue[] {
  const best = Math.max(...worth);
  return actionsIn(mdp, state)
    .map((action, index) => ({
      ...actionAt(mdp, action),
      advantage: 0 - Math.round(PARTS * (best - (worth[index] ?? 0))) / PARTS,
      isChosen: choice[state] === action,
    }))
    .sort((a, b) => b.advantage - a.advantage || Number(b.isChosen) - Number(a.isChosen))
    .map(({ isChosen: _, ...value }) => value);
}
