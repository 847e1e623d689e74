/**
 * The pipelines of an Accordion bundle in the words of its application: models and pools by name, a
 * row for every number of places.
 */
import type { AccordionBundle, MalleableVariant } from "../../../bundle/schema.ts";

export interface PlanView {
  /** By the names of the models. */
  readonly models: Readonly<Record<string, { readonly depths: readonly DepthView[] }>>;
}

/** A model on so many places. */
export interface DepthView {
  readonly executionPlaces: number;
  /** Layers of each stage; empty, as `stageMs`, where the profile gives speed-ups. */
  readonly cut: readonly number[];
  readonly stageMs: readonly number[];
  /** Of one instance. */
  readonly latencyMs: number;
  readonly speedup: number;
  /** Pool of the place of each stage. */
  readonly pools: readonly string[];
  /** Time between two instances. */
  readonly stepMs: number;
  /** Of the largest query. */
  readonly largestMs: number;
  readonly isMeasured: boolean;
}

type Frame = Pick<AccordionBundle, "tasks" | "cluster" | "policy">;

export function planView(bundle: Frame): PlanView {
  const models = bundle.tasks.flatMap(({ variants }) =>
    variants.map((variant) => [variant.name, { depths: depthViews(bundle, variant) }] as const),
  );
  return { models: Object.fromEntries(models) };
}

/** In the order of the shapes, those alone that the model has a pipeline for. */
export function depthViews(
  { cluster, policy }: Pick<Frame, "cluster" | "policy">,
  { pipelines, latencyMs }: Pick<MalleableVariant, "pipelines" | "latencyMs">,
): DepthView[] {
  return pipelines.flatMap((pipeline, shape) => {
    if (pipeline === null) return [];
    const { cut, stageMs, stepMs, speedup, isMeasured } = pipeline;
    const row = shape * policy.maxBatch;
    return {
      executionPlaces: pipeline.pools.length,
      cut,
      stageMs,
      latencyMs: latencyMs.data[row] ?? Number.NaN,
      speedup,
      pools: pipeline.pools.map((pool) => cluster.pools[pool]?.name ?? ""),
      stepMs,
      largestMs: latencyMs.data[row + policy.maxBatch - 1] ?? Number.NaN,
      isMeasured,
    };
  });
}
