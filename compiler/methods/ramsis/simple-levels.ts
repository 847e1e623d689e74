/**
 * Levels that follow a rule told in a sentence, or a baseline: what a level of a bundle with a
 * serving path has to beat, under the simulation that its promise is made with.
 */
import type { RamsisBundle, RamsisLevel, Table } from "stratagem-runtime/internal/bundle/schema";
import { PolicyTable } from "stratagem-runtime/internal/core/policy-table";
import type { RamsisFrame } from "../../model/frames.ts";
import { hasBuckets } from "./bucketed-level.ts";
import { type LevelPlan, onSharedAxes, planningFrame } from "./planning-frame.ts";
import { fixedVariantBundle } from "./simulate/baselines/fixed-variant.ts";
import { greedyBundle } from "./simulate/baselines/greedy.ts";
import { jellyfishBundle } from "./simulate/baselines/jellyfish.ts";
import { ruleTables } from "./solve/pooled/pooled.ts";

/** @param level of the load, whose tables they replace. */
export function simpleLevels(
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
  const bundle: RamsisBundle = { ...frame, levels: [level], provenance };
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
  const accuracyOf = (variant: number) => variants[variant]?.accuracy ?? 0;
  const actionCount = actions.data.length / 2;
  const known = new Map<number, number>();
  const indexOf = (variant: number, batch: number): number => {
    const key = variant * 2 ** 16 + batch;
    let index = known.get(key) ?? -1;
    for (let action = 0; index < 0 && action < actionCount; action++) {
      const [other = 0, size = 0] = actions.data.subarray(2 * action, 2 * action + 2);
      // A dominated variant has no actions: one that is as accurate, and as fast, has its place.
      const isIt = other === variant || variants[variant]?.dominated === true;
      if (size === batch && isIt && accuracyOf(other) >= accuracyOf(variant)) index = action;
    }
    known.set(key, index);
    return Math.max(0, index);
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
