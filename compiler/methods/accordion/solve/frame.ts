/**
 * From an application to the frame of an Accordion bundle: every table that its schedulers look up.
 */
import type {
  AccordionOptions,
  ArrivalModel,
  LayerPipeline,
  MalleableVariant,
} from "stratagem-runtime/internal/bundle/schema";
import {
  placeShapes,
  placesByPool,
} from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { AccordionFrame } from "../../../model/frames.ts";
import type { ModelFiles } from "../../../model/model-files.ts";
import type {
  AccordionPolicy,
  Application,
  Variant,
  VariantProfile,
} from "../../../spec/application.ts";
import { profileFor } from "../../../spec/pool-profiles.ts";
import { latencyTable } from "./latency-table.ts";
import { pipelinesOf } from "./pipelines.ts";
import { stageSpreadsOf } from "./stage-spreads.ts";

/**
 * @param application one without mistakes, whose method is accordion.
 * @returns no stages of models: they are cut where the files are read.
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
    arrivals: arrivalsOf(application),
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

/** No more places than there are workers. */
function optionsOf(
  { method: _, ...options }: AccordionPolicy,
  { cluster }: Application,
): AccordionOptions {
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  return { ...options, executionPlaces: Math.min(options.executionPlaces, workers) };
}

function arrivalsOf({ arrivals }: Application): ArrivalModel {
  if (arrivals.process !== "trace") return arrivals;
  // Levels are simulated with random arrivals at their loads; the trace says what loads there are.
  return { process: "trace", file: arrivals.file.replace(/^.*[\\/]/, ""), dispersion: 1 };
}

/** In the order of the pools. */
function profilesOf({ cluster }: Application, variant: Variant): VariantProfile[] {
  return cluster.pools.map((pool) => {
    const profile = profileFor(variant, pool);
    if (profile === null) throw new RangeError("a variant has a profile for every pool");
    return profile;
  });
}

/** Bundles that say what serving takes are simulated as they will be measured. */
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
  // Without layers a model cannot be cut, so none is promised.
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
