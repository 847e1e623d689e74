/**
 * Levels that follow a simple rule, or a baseline: a level of a bundle with a serving path must be
 * better, under the simulation of its promise.
 */
import type {
  RamsisBundle,
  RamsisLevel,
  Table,
  Variant,
} from "stratagem-runtime/internal/bundle/schema";
import { PolicyTable } from "stratagem-runtime/internal/core/policy-table";
import { rowLengths } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import type { RamsisFrame } from "../../model/frames.ts";
import { type LevelPlan, onSharedAxes, planningFrame } from "./planning-frame.ts";
import { fixedVariantBundle, greedyBundle, jellyfishBundle } from "./simulate/baselines/tables.ts";
import type { LevelProblem } from "./solve/level-problem.ts";
import { ruleTables } from "./solve/pooled/pooled.ts";

/** @param level of the load, whose tables they replace. */
export function simpleLevels(
  { frame, isPadded, isPooled }: LevelProblem,
  level: RamsisLevel,
  plans: readonly LevelPlan[],
): RamsisLevel[] {
  if (isPadded) return [];
  const { marginMs: _, classTables: __, ...own } = level;
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

/** Baselines that are tables: they also serve late queries in order. */
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
  const { slackMs, actions } = decisionSpace;
  const rows = rowLengths(decisionSpace);
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
 * The action with a variant's batch, or the largest below it. A dominated variant has no actions;
 * one that is as accurate, and as fast, replaces it.
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
