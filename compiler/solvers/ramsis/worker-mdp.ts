/**
 * The Markov decision process of one worker, RAMSIS §4.2–§4.4, with fixed-length discretization and maximal batching.
 *
 *   states   (n, j): n = 1 … N queries wait and the earliest deadline is T_j away; and the full-queue state, more than N
 *            wait and the earliest deadline is taken as missed. An empty queue carries no decision: the worker idles until
 *            (1, SLO).
 *   actions  in (n, j): batch all n on any variant that finishes within T_j, and on the fastest one whether it does or not
 *            (late beats never). In the full-queue state: N + 1 on the fastest.
 *   next     Σ_q w(q | n, j) · P(· | q, τ) with τ the service time: see `transitions.ts`.
 */
import { phaseWeights } from "../../numeric/phase-weights.ts";
import { type PhaseTransitions, stateIndex, TransitionBuilder } from "./transitions.ts";
import { fastestVariant, serviceTimeMs, type WorkerProblem } from "./worker-problem.ts";

export interface WorkerMdp {
  readonly stateCount: number;
  readonly phaseCount: number;
  /** (1, SLO), where a worker that ran out of queries wakes up. */
  readonly idleState: number;
  /** The idle state and all that can follow it, ascending; the others matter to no value and are there for the table's sake. */
  readonly reached: Uint32Array;
  /** States it cannot enter that have more than one action all the same, ascending. */
  readonly deciding: Uint32Array;
  /** Queries served from the state, shape (stateCount,). */
  readonly batch: Uint32Array;
  /** w(q | state), shape (stateCount, phaseCount); rows sum to 1. Outside [phaseStart, phaseEnd) negligible. */
  readonly phaseWeight: Float64Array;
  /** Shape (stateCount,). */
  readonly phaseStart: Uint32Array;
  readonly phaseEnd: Uint32Array;
  /** Actions of state s are actionStart[s] … actionStart[s + 1] − 1, by ascending variant. Shape (stateCount + 1,). */
  readonly actionStart: Uint32Array;
  /** Shape (actionCount,). */
  readonly actionVariant: Uint16Array;
  /** Block of `transitions` (phaseCount rows) that the action follows, or NO_BLOCK where no choice depends on it; (actionCount,). */
  readonly actionBlock: Uint32Array;
  /** Accuracy of the variant where the earliest deadline of the batch is met, otherwise 0. Shape (actionCount,). */
  readonly actionAccuracy: Float64Array;
  /** 1 where the earliest deadline of the batch is met, otherwise 0. Shape (actionCount,). */
  readonly actionSatisfied: Uint8Array;
  readonly transitions: PhaseTransitions;
}

/** Marks the only action of a state that no transition reaches: it needs no rows. */
export const NO_BLOCK = 0xffffffff;

/** The variants that may be chosen in a state, ascending and at least one. @param slackMs below 0 in the full-queue state. */
export type Admissible = (queued: number, slackMs: number, state: number) => readonly number[];

/** All that meet the deadline, and the fastest whether it does or not. Source: RAMSIS §4.3.1. */
export function admissibleVariants(problem: WorkerProblem): Admissible {
  const fastest = Array.from({ length: problem.maxQueue + 2 }, (_, n) =>
    fastestVariant(problem, n),
  );
  return (queued, slackMs) =>
    problem.candidates.filter(
      (variant) =>
        variant === fastest[queued] || serviceTimeMs(problem, variant, queued) <= slackMs,
    );
}

export function buildWorkerMdp(problem: WorkerProblem, admissible: Admissible): WorkerMdp {
  const stateCount = problem.maxQueue * problem.slackMs.length + 1;
  const actions = listActions(problem, stateCount, admissible);
  const explored = exploreFromIdle(problem, actions);
  return {
    stateCount,
    phaseCount: problem.workerCount,
    idleState: idleState(problem),
    batch: actions.batch,
    ...weighPhases(problem, stateCount),
    actionStart: actions.start,
    actionVariant: Uint16Array.from(actions.variant),
    actionAccuracy: Float64Array.from(actions.accuracy),
    actionSatisfied: Uint8Array.from(actions.satisfied),
    ...explored,
  };
}

function idleState(problem: WorkerProblem): number {
  const slackCount = problem.slackMs.length;
  return stateIndex(slackCount, 1, slackCount - 1);
}

/** Builds the rows of every action a reached state has, until no new state appears; then those that decide between actions elsewhere. */
function exploreFromIdle(
  problem: WorkerProblem,
  actions: ActionList,
): Pick<WorkerMdp, "reached" | "deciding" | "actionBlock" | "transitions"> {
  const stateCount = actions.batch.length;
  const builder = new TransitionBuilder(problem);
  const blockOfTau = new Map<number, number>();
  const actionBlock = new Uint32Array(actions.variant.length).fill(NO_BLOCK);
  const isReached = new Uint8Array(stateCount);
  const frontier = [idleState(problem)];
  isReached[idleState(problem)] = 1;
  const follow = (action: number): void => {
    const tauMs = actions.serviceMs[action] ?? Number.NaN;
    const known = blockOfTau.get(tauMs);
    actionBlock[action] = known ?? blockOfTau.size;
    if (known !== undefined) return;
    blockOfTau.set(tauMs, blockOfTau.size);
    for (const next of builder.add(tauMs)) {
      if (isReached[next] === 0) frontier.push(next);
      isReached[next] = 1;
    }
  };
  const followAll = (state: number): void => {
    const end = actions.start[state + 1] ?? 0;
    for (let action = actions.start[state] ?? 0; action < end; action++) follow(action);
  };
  for (let state = frontier.pop(); state !== undefined; state = frontier.pop()) followAll(state);
  const reached = Uint32Array.from(isReached.keys()).filter((state) => isReached[state] === 1);
  const deciding = Uint32Array.from(isReached.keys()).filter((state) => {
    const actionCount = (actions.start[state + 1] ?? 0) - (actions.start[state] ?? 0);
    return isReached[state] === 0 && actionCount > 1;
  });
  deciding.forEach(followAll);
  return { reached, deciding, actionBlock, transitions: builder.finish() };
}

interface ActionList {
  readonly batch: Uint32Array;
  readonly start: Uint32Array;
  readonly variant: number[];
  readonly serviceMs: number[];
  readonly accuracy: number[];
  readonly satisfied: number[];
}

function listActions(
  problem: WorkerProblem,
  stateCount: number,
  admissible: Admissible,
): ActionList {
  const list: ActionList = {
    batch: new Uint32Array(stateCount),
    start: new Uint32Array(stateCount + 1),
    variant: [],
    serviceMs: [],
    accuracy: [],
    satisfied: [],
  };
  const addState = (state: number, queued: number, slackMs: number): void => {
    for (const variant of admissible(queued, slackMs, state)) {
      const serviceMs = serviceTimeMs(problem, variant, queued);
      const satisfied = serviceMs <= slackMs;
      list.variant.push(variant);
      list.serviceMs.push(serviceMs);
      list.accuracy.push(satisfied ? (problem.accuracy[variant] ?? 0) : 0);
      list.satisfied.push(satisfied ? 1 : 0);
    }
    list.batch[state] = queued;
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

/** In the full-queue state the earliest deadline counts as missed (§4.2.3): no service time fits. */
const FULL_QUEUE_SLACK_MS = -1;

const NEGLIGIBLE_WEIGHT = 1e-17;

function weighPhases(
  problem: WorkerProblem,
  stateCount: number,
): Pick<WorkerMdp, "phaseWeight" | "phaseStart" | "phaseEnd"> {
  const { workerCount, arrivalRatePerMs, slackMs, maxQueue } = problem;
  const sloMs = slackMs[slackMs.length - 1] ?? 0;
  const phaseWeight = new Float64Array(stateCount * workerCount);
  const phaseStart = new Uint32Array(stateCount);
  const phaseEnd = new Uint32Array(stateCount);
  const isHeavy = (weight: number): boolean => weight >= NEGLIGIBLE_WEIGHT;
  const weigh = (state: number, queued: number, waitedMs: number): void => {
    const row = phaseWeight.subarray(state * workerCount, (state + 1) * workerCount);
    phaseWeights((queued - 1) * workerCount, arrivalRatePerMs * waitedMs, row);
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
