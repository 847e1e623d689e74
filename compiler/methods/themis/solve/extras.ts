/**
 * Vertical scaling to its limit, and further instances for the rest of the load. Source: Themis
 * Algorithm 1, from line 26 on.
 */
import type { ScalingPlan } from "./problem.ts";
import type { ScalingMode } from "./task-options.ts";

type VerticalMode = Extract<ScalingMode, { readonly kind: "vertical" }>;
type SizedMode = Extract<ScalingMode, { readonly kind: "sized" }>;

interface ExtrasPlan {
  /** Load that the running instances carry. */
  readonly carriedQps: number;
  readonly running: ScalingPlan;
  /**
   * Additional instances for the rest of the load, each with as many cores as the others of its
   * task; null without a rest, or without a plan for it.
   */
  readonly extras: ScalingPlan | null;
}

/**
 * Resizes running instances for the largest load of a grid that they carry, and adds instances for
 * the rest. Capacity is not monotone in the load: a batch that fills too slowly at a low load may
 * be the one that carries a higher one. So the grid is searched from its top, not bisected as in
 * the paper.
 *
 * @param gridQps loads above the requested one are left out; that one is tried first.
 * @returns null if none is carried.
 */
export function planWithExtras(
  find: (loadQps: number, mode: VerticalMode | SizedMode) => ScalingPlan | null,
  loadQps: number,
  mode: VerticalMode,
  gridQps: readonly number[],
): ExtrasPlan | null {
  const whole = find(loadQps, mode);
  if (whole !== null) return { carriedQps: loadQps, running: whole, extras: null };
  const below = gridQps.filter((qps) => qps > 0 && qps < loadQps).toSorted((a, b) => b - a);
  for (const carriedQps of below) {
    const running = find(carriedQps, mode);
    if (running === null) continue;
    const cores = running.stages.map((stage) => stage.cores);
    return { carriedQps, running, extras: find(loadQps - carriedQps, { kind: "sized", cores }) };
  }
  return null;
}
