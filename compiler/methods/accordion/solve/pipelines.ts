/**
 * How a model is cut for every shape, from its measurements.
 *
 * Accordion §3.1 takes its pipeline configurations from another system; we solve for them. A shape
 * says how many places of each pool a pipeline has, N in all, and a model has L layers. Variables:
 * 0 = s(0) < s(1) < ... < s(N) = L, where stage i has the layers s(i-1) to s(i) - 1;
 * k(i), the pool of the place of stage i, each pool as often as the shape has it.
 *
 * min max_i overhead(k(i)) + sum_{s(i-1) <= j < s(i)} layerMs(k(i), j)
 *
 * The optimum for every shape at once is a dynamic programme over (shape, layers so far):
 * `compiler/numeric/partition.ts`. The heaviest stage is the step between two instances of a query,
 * so B instances take the time of one through all stages and B - 1 steps.
 */
import type { LayerPipeline } from "stratagem-runtime/internal/bundle/schema";
import { layerPartitions, mixedPartitions } from "../../../numeric/partition.ts";
import type { LatencyQuantiles, LayerProfile, VariantProfile } from "../../../spec/application.ts";

type Shape = readonly number[];
type Stages = Pick<LayerPipeline, "stageMs" | "stepMs" | "isMeasured">;

export function sizeOf(shape: Shape): number {
  return shape.reduce((sum, count) => sum + count, 0);
}

/**
 * The pipeline of every shape; null if there are more places than layers, or than the profile has
 * speed-ups for. Layers take precedence over speed-ups: they can be cut.
 * @param profiles of the pools, in their order.
 * @param shapes in the order of the bundle.
 */
export function pipelinesOf(
  profiles: readonly VariantProfile[],
  shapes: readonly Shape[],
): (LayerPipeline | null)[] {
  const layers = profiles.flatMap((profile) => (profile.layers === null ? [] : [profile.layers]));
  const pipelines =
    layers.length < profiles.length
      ? shapes.map((shape) => spedPipeline(profiles, shape))
      : layeredPipelines(profiles, layers, shapes);
  const alone = pipelines[0]?.stepMs ?? Number.NaN;
  return pipelines.map((pipeline) => pipeline && { ...pipeline, speedup: alone / pipeline.stepMs });
}

type Unsped = Omit<LayerPipeline, "speedup">;

function layeredPipelines(
  profiles: readonly VariantProfile[],
  layers: readonly LayerProfile[],
  shapes: readonly Shape[],
): (Unsped | null)[] {
  const maxDepth = Math.max(...shapes.map(sizeOf));
  // The profiler cuts for identical places, so a shape of one pool uses that cut and finds its
  // stages measured.
  const alike = layers.map(({ layerMs }) => layerPartitions(layerMs, maxDepth));
  const isMixed = shapes.some((shape) => poolsOf(shape).length > 1);
  const mixed = isMixed ? mixedPartitions(layers, shapes) : [];
  return shapes.map((shape, index): Unsped | null => {
    const [pool = 0, ...others] = poolsOf(shape);
    if (others.length === 0) {
      const cut = alike[pool]?.[sizeOf(shape) - 1];
      return cut === undefined ? null : pipelineOf(profiles, cut, poolOfEach(shape));
    }
    const partition = mixed[index] ?? null;
    return partition && pipelineOf(profiles, partition.cut, partition.classes);
  });
}

/** Pools that the shape has places of. */
function poolsOf(shape: Shape): number[] {
  return shape.flatMap((count, pool) => (count > 0 ? [pool] : []));
}

function poolOfEach(shape: Shape): number[] {
  return shape.flatMap((count, pool) => new Array<number>(count).fill(pool));
}

function pipelineOf(
  profiles: readonly VariantProfile[],
  cut: readonly number[],
  pools: readonly number[],
): Unsped {
  const stages = measuredStages(profiles, cut, pools) ?? addedStages(profiles, cut, pools);
  return { cut, pools, ...stages };
}

/**
 * Measured stages: 95th percentiles for the latency of a query, means for the step between two of
 * its instances. Null unless all were measured.
 */
function measuredStages(
  profiles: readonly VariantProfile[],
  cut: readonly number[],
  pools: readonly number[],
): Stages | null {
  const measured: LatencyQuantiles[] = [];
  let from = 0;
  for (const [stage, layers] of cut.entries()) {
    const profile = profiles[pools[stage] ?? 0];
    const to = from + layers;
    const found = profile?.layers?.stages.find((one) => one.from === from && one.to === to);
    const quantiles = found?.quantiles ?? (cut.length === 1 ? wholeModel(profile) : null);
    if (quantiles === null) return null;
    measured.push(quantiles);
    from = to;
  }
  return {
    stageMs: measured.map(({ p95 }) => p95),
    stepMs: Math.max(...measured.map(({ mean }) => mean)),
    isMeasured: true,
  };
}

/** Quantiles of one instance; a bare number stands for all of them. */
function wholeModel(profile: VariantProfile | undefined): LatencyQuantiles | null {
  const row = profile?.rows.find(({ batch }) => batch === 1);
  if (row === undefined) return null;
  const { latencyMs: ms, quantiles } = row;
  return quantiles ?? { p50: ms, p95: ms, p99: ms, mean: ms };
}

/**
 * Unmeasured stages: sums of their layers, scaled by the ratio of measured to summed times in their
 * pools.
 */
function addedStages(
  profiles: readonly VariantProfile[],
  cut: readonly number[],
  pools: readonly number[],
): Stages {
  const stretches = new Map(
    pools.map((pool) => [pool, stretchOf(profiles[pool], cut.length)] as const),
  );
  const stages = addedMs(profiles, cut, pools).map((ms, stage) => {
    const { p95, mean } = stretches.get(pools[stage] ?? 0) ?? UNSTRETCHED;
    return { p95: ms * p95, mean: ms * mean };
  });
  return {
    stageMs: stages.map(({ p95 }) => p95),
    stepMs: Math.max(...stages.map(({ mean }) => mean)),
    isMeasured: false,
  };
}

function addedMs(
  profiles: readonly (VariantProfile | undefined)[],
  cut: readonly number[],
  pools: readonly number[],
): number[] {
  let from = 0;
  return cut.map((count, stage) => {
    const layers = profiles[pools[stage] ?? 0]?.layers;
    if (!layers) throw new TypeError("a pool has times of layers");
    const own = layers.layerMs.slice(from, from + count);
    from += count;
    return own.reduce((sum, ms) => sum + ms, layers.overheadMs);
  });
}

const UNSTRETCHED = { p95: 1, mean: 1 };

/**
 * Ratio of measured to summed time of a pool's best pipeline of a depth, or of the whole model if
 * that was not measured: for stages, and for the step.
 */
function stretchOf(profile: VariantProfile | undefined, depth: number): typeof UNSTRETCHED {
  const layerMs = profile?.layers?.layerMs ?? [];
  const best = layerPartitions(layerMs, depth)[depth - 1] ?? [layerMs.length];
  for (const cut of [best, [layerMs.length]]) {
    if (profile === undefined) break;
    const alone = cut.map(() => 0);
    const measured = measuredStages([profile], cut, alone);
    if (measured === null) continue;
    const added = addedMs([profile], cut, alone);
    const sum = (times: readonly number[]) => times.reduce((total, ms) => total + ms, 0);
    return { p95: sum(measured.stageMs) / sum(added), mean: measured.stepMs / Math.max(...added) };
  }
  return UNSTRETCHED;
}

/** Pipeline with unknown stages, given only its speed-up. The places are of one pool. */
function spedPipeline(profiles: readonly VariantProfile[], shape: Shape): Unsped | null {
  const places = sizeOf(shape);
  const pools = poolOfEach(shape);
  const profile = profiles[pools[0] ?? 0];
  const aloneMs = wholeModel(profile)?.p95;
  if (aloneMs === undefined) throw new TypeError("speed-ups need the time on one place");
  const known = [{ places: 1, speedup: 1 }, ...(profile?.speedups ?? [])];
  const upper = known.find((one) => one.places >= places);
  const lower = known.findLast((one) => one.places <= places);
  if (upper === undefined || lower === undefined) return null;
  const share =
    upper.places === lower.places ? 0 : (places - lower.places) / (upper.places - lower.places);
  const speedup = lower.speedup + share * (upper.speedup - lower.speedup);
  return {
    cut: [],
    pools,
    stageMs: [],
    stepMs: aloneMs / speedup,
    isMeasured: upper.places === lower.places,
  };
}
