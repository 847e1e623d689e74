/** Plans of a bundle that autoscalers start from, with shipped or tuned settings. */
import { type Slo, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { type ScalerSetting, shippedSetting } from "./scaler-settings.ts";
import type { ScalerName } from "./scalers.ts";
import {
  type PlannedSetting,
  type ScalerTrial,
  type TriedSetting,
  tuneScaler,
} from "./tune-scaler.ts";

/** A bundle whose levels have one plan each, and the level to start from. */
export interface ScaledLevels<L extends { readonly loadQps: number }> {
  readonly bundle: {
    readonly levels: readonly L[];
    readonly tasks: readonly unknown[];
    readonly slo: Slo;
  };
  /** Index of a level. */
  readonly first: number;
}

/** Callbacks that tuning in hindsight needs from a method. */
interface Hindsight<L> {
  /** Returns the same text for plans that differ only in replicas. */
  shapeOf(level: L): string;
  measure(plan: number, setting: ScalerSetting): ScalerTrial;
}

/** Returns the setting as its project ships it, with the plan that the bundle starts from. */
export function shippedOn<L extends { readonly loadQps: number }>(
  { bundle, first }: ScaledLevels<L>,
  name: ScalerName,
): PlannedSetting {
  return { plan: first, setting: shippedSetting(name, bundle.tasks.length) };
}

/**
 * Tries all settings on the same requests; the best first.
 * @param ceiling on violations; default: that of the SLO.
 */
export function tunedOn<L extends { readonly loadQps: number }>(
  { bundle, first }: ScaledLevels<L>,
  name: ScalerName,
  { shapeOf, measure }: Hindsight<L>,
  ceiling = violationCeiling(bundle.slo),
): readonly TriedSetting[] {
  const plans = triedLevels(bundle.levels.map(shapeOf), first);
  return tuneScaler({ name, stageCount: bundle.tasks.length, plans, ceiling, measure });
}

/**
 * Returns the level of a plan, and the fraction of its replicas that carries the load at time 0.
 * @returns how many of the planned replicas there are at the start.
 */
export function beginningWith<L extends { readonly loadQps: number }>(
  { bundle, first }: ScaledLevels<L>,
  plan: number,
): { readonly level: L; readonly countOf: (planned: number) => number } {
  const level = bundle.levels[plan];
  assert(level !== undefined, "a plan belongs to a level");
  const part = partFor(bundle.levels, first, plan);
  return { level, countOf: (planned) => Math.ceil(planned * part) };
}

/** Number of different plans; more improve little, and each is tried with every setting. */
const MOST_PLANS = 3;

/**
 * Returns the level that the bundle starts from, then others with different stages: the highest,
 * the lowest, the middle one, then any.
 * @param shapes of the levels: the same text for plans that differ only in replicas.
 * @param first index of the level that the bundle starts from.
 * @returns indices of levels.
 */
function triedLevels(shapes: readonly string[], first: number): number[] {
  const count = shapes.length;
  const others = [count - 1, 0, count >>> 1, ...shapes.keys()];
  const chosen: number[] = [];
  const known = new Set<string | undefined>();
  for (const index of [first, ...others]) {
    if (known.has(shapes[index]) || chosen.length === MOST_PLANS) continue;
    known.add(shapes[index]);
    chosen.push(index);
  }
  return chosen;
}

/**
 * Fraction of the replicas of a level's plan that would carry the load of the first level, at most
 * 1.
 */
function partFor(
  levels: readonly { readonly loadQps: number }[],
  first: number,
  index: number,
): number {
  const firstQps = levels[first]?.loadQps ?? Number.NaN;
  return Math.min(1, firstQps / (levels[index]?.loadQps ?? Number.NaN));
}
