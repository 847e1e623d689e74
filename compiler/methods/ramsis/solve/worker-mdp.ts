/**
 * The Markov decision process of one worker, RAMSIS §4.2–§4.4.
 *
 * States (n, j): n = 1 … N queries wait and the earliest deadline is T_j away; and the full-queue
 * state: more than N wait and the earliest deadline counts as missed. An empty queue carries no
 * decision: the worker idles until (1, SLO).
 *
 * Actions in (n, j): batch all n, or with variable batching any b ≤ n, on any variant that takes so
 * many and finishes within T_j, and all n on the fastest one whether it does or not (late beats
 * never). In the full-queue state: as many of the N + 1 as some variant takes, on the fastest of
 * these; N + 1 in the paper. If service times are random, a variant finishes within T_j if it does
 * so with a probability of at least one half.
 *
 * Next state: Σ_q w(q | n, j) · P(· | q, τ) with τ the service time: see `transitions.ts`. After a
 * batch of b < n it depends on the state in more ways: see `partial-batches.ts`.
 */
import { ActionRows } from "./action-rows.ts";
import { type ArrivalCounts, arrivalCounts } from "./arrival-counts.ts";
import type { SparseRows } from "./row-builder.ts";
import { stateIndex } from "./transitions.ts";
import {
  type Action,
  fastestVariant,
  meanServiceMs,
  probabilityInTime,
  type WorkerProblem,
} from "./worker-problem.ts";

export interface WorkerMdp {
  readonly stateCount: number;
  readonly phaseCount: number;
  /** (1, SLO), where a worker that ran out of queries wakes up. */
  readonly idleState: number;
  /**
   * The idle state and all its successors, ascending; the others affect no value and are needed
   * only for the table.
   */
  readonly reached: Uint32Array;
  /** Unreachable states with more than one action, ascending. */
  readonly deciding: Uint32Array;
  /**
   * w(q | state), shape (stateCount, phaseCount); rows sum to 1. Outside [phaseStart, phaseEnd)
   * negligible.
   */
  readonly phaseWeight: Float64Array;
  /** Shape (stateCount,). */
  readonly phaseStart: Uint32Array;
  readonly phaseEnd: Uint32Array;
  /**
   * Actions of state s are actionStart[s] … actionStart[s + 1] − 1, by ascending variant. Shape
   * (stateCount + 1,).
   */
  readonly actionStart: Uint32Array;
  /** Shape (actionCount,). */
  readonly actionVariant: Uint16Array;
  /** Queries that the action serves, shape (actionCount,). */
  readonly actionBatch: Uint16Array;
  /**
   * First row of `transitions` that the action follows, one row per phase below `directStart` and a
   * single row from there on, or NO_ROW if no choice depends on it; (actionCount,).
   */
  readonly actionRow: Uint32Array;
  readonly directStart: number;
  /** Accuracy of the variant times `actionSatisfied`, shape (actionCount,). */
  readonly actionAccuracy: Float64Array;
  /** Probability that the earliest deadline of the batch is met, shape (actionCount,). */
  readonly actionSatisfied: Float64Array;
  /**
   * Mean latency of the queries that the action serves, in SLOs, shape (actionCount,): the batch's
   * run time and their waiting time.
   */
  readonly actionLatency: Float64Array;
  readonly transitions: SparseRows;
}

/** Marks the only action of a state that no transition reaches: it needs no rows. */
export const NO_ROW = 0xffffffff;

/**
 * The actions of a state, by ascending variant and batch, at least one.
 * @param slackMs below 0 in the full-queue state.
 */
type Admissible = (queued: number, slackMs: number, state: number) => readonly Action[];

/**
 * Least probability of meeting the deadline with which a variant may be chosen for a query that can
 * be in time.
 */
const LEAST_CHANCE = 0.5;

/**
 * All actions that meet the deadline, and the fastest with all waiting queries whether it does or
 * not. Source: RAMSIS §4.3.1, §4.3.2.
 */
export function admissibleActions(problem: WorkerProblem): Admissible {
  const queueLengths = Array.from({ length: problem.maxQueue + 2 }, (_, queued) => queued);
  const largest = Math.max(...problem.candidates.map((own) => problem.largestBatch[own] ?? 0));
  const all = queueLengths.map((queued) => Math.min(queued, largest));
  const fastest = all.map((batch) => fastestVariant(problem, batch));
  const actions = all.map((batch, queued) =>
    problem.candidates.flatMap((variant) => {
      const isPartial = problem.partialBatches && queued <= problem.maxQueue;
      const least = isPartial ? 1 : batch;
      const most = Math.min(batch, problem.largestBatch[variant] ?? 0);
      return Array.from({ length: Math.max(0, most - least + 1) }, (_, more) => ({
        variant,
        batch: least + more,
      }));
    }),
  );
  return (queued, slackMs) =>
    (actions[queued] ?? []).filter(
      (action) =>
        (action.variant === fastest[queued] && action.batch === all[queued]) ||
        probabilityInTime(problem, action, slackMs) >= LEAST_CHANCE,
    );
}

/** @param alsoFrom a state to explore from in addition to the idle one, as if it were reachable. */
export function buildWorkerMdp(
  problem: WorkerProblem,
  admissible: Admissible,
  alsoFrom = idleState(problem),
): WorkerMdp {
  const stateCount = problem.maxQueue * problem.slackMs.length + 1;
  const actions = listActions(problem, stateCount, admissible);
  const counts = arrivalCounts(problem.arrivalRatePerMs, problem.dispersion);
  const phases = weighPhases(problem, counts, stateCount);
  return {
    stateCount,
    phaseCount: problem.workerCount,
    idleState: idleState(problem),
    ...phases,
    actionStart: actions.start,
    actionVariant: Uint16Array.from(actions.variant),
    actionBatch: Uint16Array.from(actions.batch),
    actionAccuracy: Float64Array.from(actions.accuracy),
    actionSatisfied: Float64Array.from(actions.satisfied),
    actionLatency: Float64Array.from(actions.latency),
    ...exploreFrom(
      new Set([idleState(problem), alsoFrom]),
      actions,
      new ActionRows(problem, counts, phases.phaseWeight),
    ),
  };
}

function idleState(problem: WorkerProblem): number {
  const slackCount = problem.slackMs.length;
  return stateIndex(slackCount, 1, slackCount - 1);
}

/**
 * Builds the rows of every action a reached state has, until no new state appears; then those that
 * decide between actions elsewhere.
 */
function exploreFrom(
  start: ReadonlySet<number>,
  actions: ActionList,
  rows: ActionRows,
): Pick<WorkerMdp, "reached" | "deciding" | "actionRow" | "directStart" | "transitions"> {
  const stateCount = actions.start.length - 1;
  const isReached = new Uint8Array(stateCount);
  const frontier = [...start];
  for (const state of start) isReached[state] = 1;
  const actionRow = new Uint32Array(actions.variant.length).fill(NO_ROW);
  const isDirect = new Uint8Array(actions.variant.length);
  const followAll = (state: number): void => {
    const end = actions.start[state + 1] ?? 0;
    for (let action = actions.start[state] ?? 0; action < end; action++) {
      const { row, direct, reached } = rows.follow(state, {
        variant: actions.variant[action] ?? 0,
        batch: actions.batch[action] ?? 0,
      });
      actionRow[action] = row;
      isDirect[action] = direct ? 1 : 0;
      for (const next of reached) {
        if (isReached[next] === 0) frontier.push(next);
        isReached[next] = 1;
      }
    }
  };
  for (let state = frontier.pop(); state !== undefined; state = frontier.pop()) followAll(state);
  const reached = Uint32Array.from(isReached.keys()).filter((state) => isReached[state] === 1);
  const deciding = Uint32Array.from(isReached.keys()).filter((state) => {
    const actionCount = (actions.start[state + 1] ?? 0) - (actions.start[state] ?? 0);
    return isReached[state] === 0 && actionCount > 1;
  });
  deciding.forEach(followAll);
  const { transitions, directStart } = rows.finish();
  for (let action = 0; action < actionRow.length; action++) {
    if (isDirect[action] === 1) actionRow[action] = directStart + (actionRow[action] ?? 0);
  }
  return { reached, deciding, actionRow, directStart, transitions };
}

interface ActionList {
  readonly start: Uint32Array;
  readonly variant: number[];
  readonly batch: number[];
  readonly accuracy: number[];
  readonly satisfied: number[];
  readonly latency: number[];
}

function listActions(
  problem: WorkerProblem,
  stateCount: number,
  admissible: Admissible,
): ActionList {
  const list: ActionList = {
    start: new Uint32Array(stateCount + 1),
    variant: [],
    batch: [],
    accuracy: [],
    satisfied: [],
    latency: [],
  };
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const addState = (state: number, queued: number, slackMs: number): void => {
    for (const action of admissible(queued, slackMs, state)) {
      const { variant, batch } = action;
      const satisfied = probabilityInTime(problem, action, slackMs);
      list.variant.push(variant);
      list.batch.push(batch);
      list.accuracy.push(satisfied * (problem.accuracy[variant] ?? 0));
      list.satisfied.push(satisfied);
      // The first has waited longest, and of n queries the k-th for (n − k + 1) / n of its time.
      const waitedMs = (sloMs - slackMs) * (1 - (batch - 1) / (2 * queued));
      list.latency.push((waitedMs + meanServiceMs(problem, variant, batch)) / sloMs);
    }
    list.start[state + 1] = list.variant.length;
  };
  for (let queued = 1; queued <= problem.maxQueue; queued++) {
    problem.slackMs.forEach((slackMs, slack) => {
      addState(stateIndex(problem.slackMs.length, queued, slack), queued, slackMs);
    });
  }
  addState(stateCount - 1, problem.maxQueue + 1, FULL_QUEUE_SLACK_MS);
  return list;
}

/**
 * In the full-queue state the earliest deadline counts as missed (§4.2.3): no service time fits.
 */
const FULL_QUEUE_SLACK_MS = -1;

const NEGLIGIBLE_WEIGHT = 1e-17;

function weighPhases(
  problem: WorkerProblem,
  counts: ArrivalCounts,
  stateCount: number,
): Pick<WorkerMdp, "phaseWeight" | "phaseStart" | "phaseEnd"> {
  const { workerCount, slackMs, maxQueue } = problem;
  const sloMs = slackMs[slackMs.length - 1] ?? 0;
  const phaseWeight = new Float64Array(stateCount * workerCount);
  const phaseStart = new Uint32Array(stateCount);
  const phaseEnd = new Uint32Array(stateCount);
  const isHeavy = (weight: number): boolean => weight >= NEGLIGIBLE_WEIGHT;
  const weigh = (state: number, queued: number, waitedMs: number): void => {
    const row = phaseWeight.subarray(state * workerCount, (state + 1) * workerCount);
    counts.phaseWeights((queued - 1) * workerCount, waitedMs, row);
    phaseStart[state] = row.findIndex(isHeavy);
    phaseEnd[state] = row.findLastIndex(isHeavy) + 1;
  };
  for (let queued = 1; queued <= maxQueue; queued++) {
    slackMs.forEach((ms, slack) => {
      weigh(stateIndex(slackMs.length, queued, slack), queued, sloMs - ms);
    });
  }
  weigh(stateCount - 1, maxQueue + 1, sloMs);
  return { phaseWeight, phaseStart, phaseEnd };
}
