/** How the times of the stages of a pipeline spread, from what was measured of its model. */
import type { LayerPipeline, Spread } from "stratagem-runtime/internal/bundle/schema";
import type { VariantProfile } from "../../../spec/application.ts";

/** A run of layers that was measured. */
interface MeasuredRange {
  readonly from: number;
  readonly to: number;
  readonly quantiles: Spread;
}

/**
 * Of each stage of a pipeline, as it was measured; of one that was not, as those of the measured run
 * of layers that has most in common with it, as many times as long as its p95 says. Undefined where
 * a pool has none of quantiles, and where stages are not known.
 * @param profiles of the pools, in their order.
 */
export function stageSpreadsOf(
  profiles: readonly VariantProfile[],
  { cut, pools, stageMs }: LayerPipeline,
): readonly Spread[] | undefined {
  let from = 0;
  const spreads: Spread[] = [];
  for (const [stage, layers] of cut.entries()) {
    const to = from + layers;
    const measured = rangesOf(profiles[pools[stage] ?? 0]);
    const closest = closestTo(measured, from, to);
    if (closest === undefined) return undefined;
    const isOwn = closest.from === from && closest.to === to;
    spreads.push(isOwn ? closest.quantiles : stretched(closest.quantiles, stageMs[stage] ?? 0));
    from = to;
  }
  return spreads.length === 0 ? undefined : spreads;
}

/** Stages first, as pipelines take them. */
function rangesOf(profile: VariantProfile | undefined): MeasuredRange[] {
  const { layers = null, rows = [] } = profile ?? {};
  if (layers === null) return [];
  const whole = rows.find(({ batch }) => batch === 1)?.quantiles ?? null;
  const all = { from: 0, to: layers.layerMs.length };
  return [...layers.stages, ...(whole === null ? [] : [{ ...all, quantiles: whole }])];
}

/** The first of those with the greatest share of layers in common. */
function closestTo(
  measured: readonly MeasuredRange[],
  from: number,
  to: number,
): MeasuredRange | undefined {
  const shared = (range: MeasuredRange): number => {
    const common = Math.max(0, Math.min(to, range.to) - Math.max(from, range.from));
    return common / (to - from + (range.to - range.from) - common);
  };
  let closest = measured[0];
  for (const range of measured) {
    if (closest !== undefined && shared(range) > shared(closest)) closest = range;
  }
  return closest;
}

function stretched({ p50, p95, p99, mean }: Spread, p95Ms: number): Spread {
  const by = p95Ms / p95;
  return { p50: p50 * by, p95: p95Ms, p99: Math.max(p95Ms, p99 * by), mean: mean * by };
}
