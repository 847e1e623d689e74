/**
 * Questions that a program asks of a bundle without serving it: its level for a load, and
 * decisions.
 */

import { RuntimeError } from "../base/errors.ts";
import type { Bundle } from "../bundle/schema.ts";
import { levelForLoad } from "../core/level-choice.ts";
import { methodOf } from "../methods/every-method.ts";
import type { CoreOf, CoreOptionsOf, DecisionOf, StateOf } from "../methods/registry.ts";

/** A level by its index, from 0, or by a load: the lowest that carries it, or the highest. */
export type AtLevel =
  | { readonly level: number; readonly loadQps?: undefined }
  | { readonly loadQps: number; readonly level?: undefined };

/**
 * Returns the decision of a bundle, exactly as its server would make it at a known load: for ramsis
 * the batch to start in a state of the queue, or to wait, or to give a query up; for accordion the
 * places that a query gets; for the other methods the plan of the level. A table that mixes two
 * answers by the first. Source: docs/bundle-format.md.
 *
 * @param state number of waiting queries and remaining time; undefined for plans.
 * @throws RuntimeError RUNTIME_USAGE for an impossible level or state.
 */
export function decide<B extends Bundle>(
  bundle: B,
  at: AtLevel,
  ...[state]: StateOf<B> extends undefined ? [] : [state: StateOf<B>]
): DecisionOf<B> {
  const decision = methodOf<Bundle>(bundle).decide(bundle, levelIndex(bundle, at), state as never);
  return decision as DecisionOf<B>;
}

/** Returns the index of the level. @throws RuntimeError RUNTIME_USAGE for an index out of range. */
export function levelIndex({ levels }: Bundle, at: AtLevel): number {
  const { level, loadQps } = at ?? {};
  if (loadQps !== undefined) {
    if (loadQps >= 0) return levelForLoad(levels, loadQps);
    throw new RuntimeError("RUNTIME_USAGE", `loadQps: expected 0 or more, got ${loadQps}`);
  }
  if (level !== undefined && levels[level] !== undefined) return level;
  const allowed = `0 to ${levels.length - 1}`;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `level: expected a whole number, ${allowed}, got ${level}`,
  );
}

/**
 * Opens the state machine that decides in a server of the bundle, and a buffer for its commands,
 * for a driver with a clock of its own: events go in with their times, commands come out. For
 * ramsis a `Dispatcher`, for accordion an `AccordionScheduler`, for the other methods a
 * `PipelineDispatcher`.
 */
export function openCore<B extends Bundle>(bundle: B, options: CoreOptionsOf<B>): CoreOf<B> {
  return methodOf<Bundle>(bundle).core(bundle, options as never) as CoreOf<B>;
}
