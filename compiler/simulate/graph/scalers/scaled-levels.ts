/** Plans of a bundle for autoscalers to begin with, as shipped or tuned in hindsight. */
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

/** A bundle whose levels have a plan each, and the level that it begins with. */
export interface ScaledLevels<L extends { readonly loadQps: number }> {
  readonly bundle: {
    readonly levels: readonly L[];
    readonly tasks: readonly unknown[];
    readonly slo: Slo;
  };
  /** Index of a level. */
  readonly first: number;
}

/** What hindsight asks of a method. */
interface Hindsight<L> {
  /** The same text for plans that differ in replicas alone. */
  shapeOf(level: L): string;
  measure(plan: number, setting: ScalerSetting): ScalerTrial;
}

/** As its project ships it, with the plan that the bundle itself begins with. */
export function shippedOn<L extends { readonly loadQps: number }>(
  { bundle, first }: ScaledLevels<L>,
  name: ScalerName,
): PlannedSetting {
  return { plan: first, setting: shippedSetting(name, bundle.tasks.length) };
}

/**
 * All that hindsight tries, on the requests themselves; the best first.
 * @param ceiling on violations that is to be kept; left out, that of the SLO.
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
 * The level of a plan, and what of its replicas carries the load at time 0.
 * @returns how many there are at first of so many planned ones.
 */
export function beginningWith<L extends { readonly loadQps: number }>(
  { bundle, first }: ScaledLevels<L>,
  plan: number,
): { readonly level: L; readonly countOf: (planned: number) => number } {
  const level = bundle.levels[plan];
  assert(level !== undefined, "a plan is that of a level");
  const part = partFor(bundle.levels, first, plan);
  return { level, countOf: (planned) => Math.ceil(planned * part) };
}

/** Of plans that differ; more say little more, and each is tried with every setting. */
const MOST_PLANS = 3;

/**
 * The level that the bundle begins with, then others whose stages are made otherwise: the highest,
 * the lowest, the middle one, then any.
 * @param shapes of the levels: the same text for plans that differ in replicas alone.
 * @param first index of the level that the bundle begins with.
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

/** Part of the replicas of a level's plan that would carry the load of the first, at most all. */
function partFor(
  levels: readonly { readonly loadQps: number }[],
  first: number,
  index: number,
): number {
  const firstQps = levels[first]?.loadQps ?? Number.NaN;
  return Math.min(1, firstQps / (levels[index]?.loadQps ?? Number.NaN));
}
