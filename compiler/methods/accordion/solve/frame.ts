/**
 * From an application to the frame of an Accordion bundle: the tables that its schedulers look up.
 */
import type {
  AccordionOptions,
  LayerPipeline,
  MalleableVariant,
  Spread,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import {
  placeShapes,
  placesByPool,
} from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import { arrivalModelOf } from "../../../model/arrival-model.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { AccordionFrame } from "../../../model/frames.ts";
import type { ModelFiles } from "../../../model/model-files.ts";
import { viewOf } from "../../../model/table-view.ts";
import type {
  AccordionPolicy,
  Application,
  Variant,
  VariantProfile,
} from "../../../spec/application.ts";
import { profileFor } from "../../../spec/pool-profiles.ts";
import { pipelinesOf } from "./pipelines.ts";

/**
 * @param application one without mistakes, whose method is accordion.
 * @returns a frame without stages of models: these are cut where the files are read.
 */
export function accordionFrame(
  application: Application<AccordionPolicy>,
  models: ModelFiles,
): AccordionFrame {
  const { name, slo, cluster, policy, tasks } = application;
  const options = optionsOf(policy, application);
  const places = placesByPool(cluster.pools, options.executionPlaces);
  const shapes = [...placeShapes(places, options.maxDepth)];
  return {
    application: name,
    method: "accordion",
    slo,
    arrivals: arrivalModelOf(application),
    cluster: bundledCluster(application),
    tasks: tasks.map((task) => ({
      name: task.name,
      variants: task.variants.map((variant) => {
        const profiles = profilesOf(application, variant);
        const pipelines = withSpreads(profiles, pipelinesOf(profiles, shapes), application);
        return malleable(variant, profiles, pipelines, options, models);
      }),
    })),
    policy: options,
    shapes: {
      dtype: "uint16",
      shape: [shapes.length, places.length],
      data: Uint16Array.from(shapes.flat()),
    },
  };
}

/** Uses no more places than workers. */
function optionsOf(
  { method: _, ...options }: AccordionPolicy,
  { cluster }: Application,
): AccordionOptions {
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  return { ...options, executionPlaces: Math.min(options.executionPlaces, workers) };
}

/** In the order of the pools. */
function profilesOf({ cluster }: Application, variant: Variant): VariantProfile[] {
  return cluster.pools.map((pool) => {
    const profile = profileFor(variant, pool);
    if (profile === null) throw new RangeError("a variant has a profile for every pool");
    return profile;
  });
}

/** Bundles with a serving path are simulated with drawn times, as measurements will be. */
function withSpreads(
  profiles: readonly VariantProfile[],
  pipelines: readonly (LayerPipeline | null)[],
  { cluster }: Application,
): readonly (LayerPipeline | null)[] {
  if (cluster.serving === undefined) return pipelines;
  return pipelines.map((pipeline) => {
    const stageSpreads = pipeline === null ? undefined : stageSpreadsOf(profiles, pipeline);
    return stageSpreads === undefined || pipeline === null
      ? pipeline
      : { ...pipeline, stageSpreads };
  });
}

function malleable(
  { name, accuracy, model }: Variant,
  profiles: readonly VariantProfile[],
  pipelines: readonly (LayerPipeline | null)[],
  options: AccordionOptions,
  models: ModelFiles,
): MalleableVariant {
  const layerCount = pipelines[0]?.cut.reduce((sum, layers) => sum + layers, 0) ?? 0;
  // A model without layers cannot be cut, so it has no file.
  const isCut = model !== null && layerCount > 0;
  return {
    name,
    accuracy,
    model: isCut ? (models.get(model) ?? null) : null,
    profiles: profiles.map(({ file, variant, hardware, sha256 }) => {
      return { file, variant, hardware, sha256 };
    }),
    layerCount,
    pipelines,
    latencyMs: latencyTable(pipelines, options),
    stages: [],
  };
}

/**
 * Time of one instance through a pipeline.
 * @param first pipeline of the model, which stands for the whole if stages are not known.
 */
function fillMs({ stageMs }: LayerPipeline, first: LayerPipeline): number {
  if (stageMs.length > 0) return stageMs.reduce((sum, ms) => sum + ms, 0);
  return first.stageMs.length > 0 ? fillMs(first, first) : first.stepMs;
}

/**
 * @returns float64 [shapeCount, maxBatch], ms; Infinity if there is no pipeline.
 * Source: Accordion §3, and its figures for the timing of the paper.
 */
function latencyTable(
  pipelines: readonly (LayerPipeline | null)[],
  { maxBatch, timing }: Pick<AccordionOptions, "maxBatch" | "timing">,
): Table {
  const [first] = pipelines;
  if (!first) throw new RangeError("the first shape has a pipeline");
  const aloneMs = fillMs(first, first);
  const data = new Float64Array(pipelines.length * maxBatch).fill(Number.POSITIVE_INFINITY);
  const table: Table = { dtype: "float64", shape: [pipelines.length, maxBatch], data };
  const times = viewOf(table);
  for (const [shape, pipeline] of pipelines.entries()) {
    if (pipeline === null) continue;
    const startMs = fillMs(pipeline, first);
    for (let batch = 1; batch <= maxBatch; batch++) {
      const pipelinedMs = startMs + (batch - 1) * pipeline.stepMs;
      const paperMs = (batch * aloneMs) / pipeline.speedup;
      times.set(shape, batch - 1, timing === "paper" ? paperMs : pipelinedMs);
    }
  }
  return table;
}

/** A run of layers that was measured. */
interface MeasuredRange {
  readonly from: number;
  readonly to: number;
  readonly quantiles: Spread;
}

/**
 * Distribution of each stage of a pipeline, as measured; for an unmeasured stage that of the
 * measured run of layers with the most in common, scaled to its p95. Undefined if a pool has no
 * quantiles, or if stages are not known.
 * @param profiles of the pools, in their order.
 */
function stageSpreadsOf(
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
