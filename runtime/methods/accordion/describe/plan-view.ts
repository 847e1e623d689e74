/**
 * Pipelines of an Accordion bundle with models and pools by name, a row for every number of places.
 */
import type { AccordionBundle, MalleableVariant } from "../../../bundle/schema.ts";

export interface PlanView {
  /** Pipelines by model name. */
  readonly models: Readonly<Record<string, { readonly depths: readonly DepthView[] }>>;
}

/** A model on a number of places. */
export interface DepthView {
  readonly executionPlaces: number;
  /** Layers of each stage; empty, like `stageMs`, if the profile gives speed-ups. */
  readonly cut: readonly number[];
  readonly stageMs: readonly number[];
  /** Time of one instance. */
  readonly latencyMs: number;
  readonly speedup: number;
  /** Pool of the place of each stage. */
  readonly pools: readonly string[];
  /** Time between two instances. */
  readonly stepMs: number;
  /** Time of the largest query. */
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

/** Returns the shapes with a pipeline of the model, in their order. */
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
