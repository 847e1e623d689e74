/** Pipelines of a bundle by number of places, and which of them meet the SLO. */
import type {
  AccordionBundle,
  LayerPipeline,
  MalleableVariant,
} from "stratagem-runtime/internal/bundle/schema";

/** A pipeline of a model on places of a shape. */
export interface Depth {
  readonly places: number;
  /** Places of each pool. */
  readonly counts: readonly number[];
  readonly pipeline: LayerPipeline;
  /** Latency of a query of b instances at index b − 1. */
  readonly latencyMs: Float64Array;
}

/** Batches, `from` to `to`, that meet the SLO with this many places and not with fewer. */
interface BatchRange {
  readonly places: number;
  readonly from: number;
  readonly to: number;
}

/** Every pipeline of the model, in the order of the shapes. */
export function pipelinesOf(
  { shapes, policy }: Pick<AccordionBundle, "shapes" | "policy">,
  model: MalleableVariant,
): Depth[] {
  const [, poolCount = 0] = shapes.shape;
  return model.pipelines.flatMap((pipeline, shape) => {
    if (pipeline === null) return [];
    const counts = [...shapes.data.subarray(shape * poolCount, (shape + 1) * poolCount)];
    const start = shape * policy.maxBatch;
    const latencyMs = Float64Array.from(
      model.latencyMs.data.subarray(start, start + policy.maxBatch),
    );
    return [{ places: pipeline.pools.length, counts, pipeline, latencyMs }];
  });
}

/** For each number of places the fastest pipeline. Ascending. */
export function depthsOf(
  bundle: Pick<AccordionBundle, "shapes" | "policy">,
  model: MalleableVariant,
): Depth[] {
  return fastestOf(pipelinesOf(bundle, model));
}

/**
 * For each number of places the first pipeline with the least time between two instances.
 * Ascending.
 */
export function fastestOf(pipelines: readonly Depth[]): Depth[] {
  const best = new Map<number, Depth>();
  for (const one of pipelines) {
    const known = best.get(one.places);
    if (known === undefined || one.pipeline.stepMs < known.pipeline.stepMs) {
      best.set(one.places, one);
    }
  }
  return [...best.values()].sort((a, b) => a.places - b.places);
}

/**
 * For each number of places the least time of each batch with any shape of it. Ascending in places.
 */
export function leastLatencies(
  bundle: Pick<AccordionBundle, "shapes" | "policy">,
  model: MalleableVariant,
): { readonly places: number; readonly latencyMs: Float64Array }[] {
  const least = new Map<number, Float64Array>();
  for (const { places, latencyMs } of pipelinesOf(bundle, model)) {
    const known = least.get(places);
    if (known === undefined) least.set(places, latencyMs);
    else for (const [at, ms] of latencyMs.entries()) known[at] = Math.min(ms, known[at] ?? ms);
  }
  return [...least]
    .map(([places, latencyMs]) => ({ places, latencyMs }))
    .sort((a, b) => a.places - b.places);
}

/**
 * The fewest places with which a query that starts at once takes no longer than the SLO, by ranges
 * of batches. Batches beyond the last range never do.
 */
export function fewestPlaces(
  bundle: Pick<AccordionBundle, "shapes" | "policy" | "slo">,
  model: MalleableVariant,
): BatchRange[] {
  const { latencyMs: sloMs } = bundle.slo;
  let from = 1;
  return leastLatencies(bundle, model).flatMap(({ places, latencyMs }): BatchRange[] => {
    const to = latencyMs.findLastIndex((ms) => ms <= sloMs) + 1;
    if (to < from) return [];
    const range = { places, from, to };
    from = to + 1;
    return [range];
  });
}

/** The largest batch that meets the SLO with any number of places; 0 if none does. */
export function largestBatch(ranges: readonly BatchRange[]): number {
  return ranges.at(-1)?.to ?? 0;
}
