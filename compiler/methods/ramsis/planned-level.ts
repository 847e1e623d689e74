/** The level of one load, whatever other loads there are. */
import {
  type Expected,
  type RamsisBundle,
  type RamsisLevel,
  type Table,
  type Variant,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { PolicyTable } from "stratagem-runtime/internal/core/policy-table";
import type { RamsisFrame } from "../../model/frames.ts";
import { hasBuckets } from "./bucketed-level.ts";
import { latencyCost } from "./classed-level.ts";
import { type LevelPlan, levelPlans, onSharedAxes, planningFrame } from "./planning-frame.ts";
import { hasPath, servedLevel, servedLook } from "./served-level.ts";
import { fixedVariantBundle } from "./simulate/baselines/fixed-variant.ts";
import { greedyBundle } from "./simulate/baselines/greedy.ts";
import { jellyfishBundle } from "./simulate/baselines/jellyfish.ts";
import { ruleTables } from "./solve/pooled/pooled.ts";
import { type LevelTables, ramsis } from "./solve/ramsis.ts";

export interface LevelKind {
  /** The tables for a load, with or without what they promise. */
  readonly solve: (frame: RamsisFrame, loadQps: number) => RamsisLevel | LevelTables;
  /** The level of a load with the tables of another level, and what they promise there. */
  readonly withTableOf: (frame: RamsisFrame, loadQps: number, level: LevelTables) => RamsisLevel;
}

/** Accuracy that a violation per query too many costs a level, as a candidate of the search. */
const VIOLATION_PENALTY = 20;
/** Accuracy per query by which a simple rule has to be better than what was solved. */
const LEAST_GAIN = 1e-4;
/** Violations of a load that is more than the workers can carry: only rules are tried beside. */
const HOPELESS = 0.1;
/** Rules that are judged by a whole promise, of the best and of those with the least violations. */
const FINALISTS = 3;

/**
 * With the smallest margin for the serving path whose simulated promise keeps the ceiling, or a
 * simple rule that does better under the same simulation; else what comes closest to the ceiling.
 */
export function plannedLevel(frame: RamsisFrame, loadQps: number, kind: LevelKind): RamsisLevel {
  const tried: LevelPlan[] = [];
  let best: RamsisLevel | null = null;
  for (const plan of levelPlans(frame, loadQps)) {
    const level = bestSolved(frame, loadQps, plan, kind);
    const isSafer = best === null || violations(level) < violations(best);
    tried.push(plan);
    if (isSafer) best = level;
    // If a larger margin does not help, the load is more than the workers can carry.
    if (level.feasible || !isSafer || violations(level) > HOPELESS) break;
  }
  if (best === null) throw new RangeError("a level has a plan");
  return hasPath(frame) ? bestOf(frame, best, simpleLevels(frame, best, tried)) : best;
}

/** The level of a load with the best table, of levels around it, that keeps the ceiling. */
export function movedLevel(
  frame: RamsisFrame,
  loadQps: number,
  around: readonly RamsisLevel[],
  { withTableOf }: Pick<LevelKind, "withTableOf">,
): RamsisLevel {
  const looked = around.map((level) => {
    return { level, worth: pricedAt(frame, ramsis.glimpse(frame, { ...level, loadQps })) };
  });
  let best: RamsisLevel | null = null;
  for (const { level } of looked.sort((a, b) => b.worth - a.worth)) {
    const moved = withTableOf(frame, loadQps, level);
    if (best === null || isBetter(frame, moved, best)) best = moved;
    // A glimpse does not see the way through the server.
    if (best.feasible && !hasPath(frame)) break;
  }
  if (best === null) throw new RangeError("a level is moved from another one");
  return best;
}

/**
 * With the times that promises are made with; beside a serving path, which takes of the workers'
 * time too, also with the percentile of each batch, of which that may be a part.
 */
function bestSolved(
  frame: RamsisFrame,
  loadQps: number,
  plan: LevelPlan,
  kind: LevelKind,
): RamsisLevel {
  const own = solvedWith(frame, loadQps, plan, kind);
  const { policy } = frame;
  if (!hasPath(frame) || policy.serviceTimes === "p95" || violations(own) > HOPELESS) return own;
  const careful: RamsisFrame = { ...frame, policy: { ...policy, serviceTimes: "p95" } };
  const other = solvedWith(careful, loadQps, plan, kind);
  return isBetter(frame, other, own) ? other : own;
}

function solvedWith(
  frame: RamsisFrame,
  loadQps: number,
  plan: LevelPlan,
  { solve, withTableOf }: LevelKind,
): RamsisLevel {
  const planned = planningFrame(frame, loadQps, plan);
  const solved = solve(planned, loadQps);
  const level = onSharedAxes(frame, planned, solved, plan);
  // On the axes that it was solved on it promises what it was found to promise there.
  const isJudged = !hasPath(frame) && level.actionByState === solved.actionByState;
  return isJudged && "expected" in level ? level : withTableOf(frame, loadQps, level);
}

/** The solved level, or the best of the others where that one is better. */
function bestOf(
  frame: RamsisFrame,
  solved: RamsisLevel,
  others: readonly RamsisLevel[],
): RamsisLevel {
  const ceiling = violationCeiling(frame.slo);
  const look = (level: RamsisLevel) => {
    const { accuracy, violationRate } = servedLook(frame, level);
    const score = accuracy - VIOLATION_PENALTY * Math.max(0, violationRate - ceiling);
    return { level, score, violationRate };
  };
  const looked = others.map(look);
  const byScore = [...looked].sort((a, b) => b.score - a.score).slice(0, FINALISTS);
  const bySafety = [...looked].sort((a, b) => a.violationRate - b.violationRate);
  const least = look(solved).score + LEAST_GAIN;
  let best = solved;
  const finalists = solved.feasible
    ? byScore.filter(({ score }) => score > least)
    : new Set([...byScore, ...bySafety.slice(0, FINALISTS)]);
  for (const { level } of finalists) {
    const judged = servedLevel(frame, level);
    if (isBetter(frame, judged, best)) best = judged;
  }
  return best;
}

function pricedAt(
  frame: RamsisFrame,
  figures: Pick<Expected, "accuracyPerQuery" | "latencyMs">,
): number {
  return figures.accuracyPerQuery - latencyCost(frame, figures);
}

function isBetter(frame: RamsisFrame, one: RamsisLevel, other: RamsisLevel): boolean {
  if (one.feasible !== other.feasible) return one.feasible;
  if (!one.feasible) return worth(one) > worth(other);
  return pricedAt(frame, one.expected) > pricedAt(frame, other.expected) + LEAST_GAIN;
}

/** Price of a violation if no level keeps the ceiling: enough to serve rather than drop. */
function worth({ expected }: RamsisLevel): number {
  return expected.accuracyPerQuery - expected.violationRate;
}

function violations({ expected }: RamsisLevel): number {
  const { violationRate, byClass = {} } = expected;
  return Math.max(violationRate, ...Object.values(byClass).map((one) => one.violationRate));
}

/** @param level of the load, whose tables they replace. */
function simpleLevels(
  frame: RamsisFrame,
  level: RamsisLevel,
  plans: readonly LevelPlan[],
): RamsisLevel[] {
  if (hasBuckets(frame)) return [];
  const { marginMs: _, classTables: __, ...own } = level;
  const isPooled = frame.policy.balancer === "pooled";
  const rules = isPooled ? plans.flatMap((plan) => ruleLevels(frame, own, plan)) : [];
  if (!isPooled && frame.policy.batching === "maximal") return rules;
  return [...rules, ...baselineLevels(frame, own)];
}

function ruleLevels(frame: RamsisFrame, level: RamsisLevel, plan: LevelPlan): RamsisLevel[] {
  const planned = planningFrame(frame, level.loadQps, plan);
  return ruleTables(planned, level.loadQps).map(({ method, actionByState }) => {
    return onSharedAxes(frame, planned, levelOf(level, method, actionByState), plan);
  });
}

function levelOf(level: RamsisLevel, method: string, actionByState: Table): RamsisLevel {
  return { ...level, solve: { ...level.solve, method }, actionByState, mixture: null };
}

/** Baselines that are tables: they serve in order what is late, too. */
function baselineLevels(frame: RamsisFrame, level: RamsisLevel): RamsisLevel[] {
  const provenance = { compiler: "", inputs: [] };
  const bundle = { ...frame, levels: [level], provenance };
  const { variants = [] } = frame.tasks[0] ?? {};
  const fixed = variants.flatMap(({ name, dominated }, variant) => {
    return dominated ? [] : [[`fixed ${name}`, fixedVariantBundle(bundle, variant)] as const];
  });
  const loadGranular =
    frame.policy.balancer === "pooled" ? [["jellyfish", jellyfishBundle(bundle)] as const] : [];
  const made = [["greedy in order", greedyBundle(bundle)] as const, ...loadGranular, ...fixed];
  return made.map(([method, one]) => levelOf(level, method, withActions(frame, one)));
}

/** The table of a baseline on the axes, and with the actions, of a frame. */
function withActions({ decisionSpace, tasks }: RamsisFrame, made: RamsisBundle): Table {
  const table = PolicyTable.fromBundle(made);
  const { queued, maxQueue, slackMs, actions } = decisionSpace;
  const rows = queued?.data ?? Float64Array.from({ length: maxQueue + 1 }, (_, row) => row + 1);
  const { variants = [] } = tasks[0] ?? {};
  const known = new Map<number, number>();
  const indexOf = (variant: number, batch: number): number => {
    const key = variant * 2 ** 16 + batch;
    const index = known.get(key) ?? actionLike(actions.data, variants, variant, batch);
    known.set(key, index);
    return index;
  };
  const data = new Uint16Array(rows.length * slackMs.data.length);
  for (let cell = 0; cell < data.length; cell++) {
    const row = Math.floor(cell / slackMs.data.length);
    const slack = slackMs.data[cell % slackMs.data.length] ?? 0;
    const action = table.lookup(0, rows[row] ?? 1, slack);
    data[cell] = indexOf(table.variant(action), table.batch(action));
  }
  return { dtype: "uint16", shape: [rows.length, slackMs.data.length], data };
}

/**
 * The action with a variant's batch, or the largest below it. A dominated variant has no actions:
 * one that is as accurate, and as fast, has its place.
 */
function actionLike(
  actions: Table["data"],
  variants: readonly Variant[],
  variant: number,
  batch: number,
): number {
  const wanted = variants[variant];
  let largest = 0;
  let found = 0;
  for (let action = 0; 2 * action < actions.length; action++) {
    const [other = 0, size = 0] = actions.subarray(2 * action, 2 * action + 2);
    const isLike = other === variant || wanted?.dominated === true;
    if (!isLike || (variants[other]?.accuracy ?? 0) < (wanted?.accuracy ?? 0)) continue;
    if (size <= largest || size > batch) continue;
    largest = size;
    found = action;
  }
  return found;
}
