/** Converts times of runs of single layers to layer times that add up to the model's time. */

/** Measurements of one model with one instance per run, in ms inside the worker. */
interface LayerRuns {
  /** Time of each layer run as its own model; at least one. */
  readonly unitMs: readonly number[];
  readonly wholeMs: number;
  /** Time of a model that computes nothing. */
  readonly emptyMs: number;
}

/** Smallest time of a layer, the resolution of clocks; cuts need layer times above 0. */
export const LEAST_LAYER_MS = 0.001;

/**
 * Returns layer times above 0 that sum to the time of the whole model. The constant cost of a run
 * is subtracted from each layer; the rest is scaled, since separate layers miss the engine's gains
 * from fusing neighbours.
 */
export function layerTimes({ unitMs, wholeMs, emptyMs }: LayerRuns): number[] {
  const separateMs = unitMs.map((ms) => Math.max(LEAST_LAYER_MS, ms - emptyMs));
  const sumMs = separateMs.reduce((sum, ms) => sum + ms, 0);
  const scale = Math.max(LEAST_LAYER_MS, wholeMs) / sumMs;
  return separateMs.map((ms) => ms * scale);
}

/** Predicts the time of a stage from its layer times, in ms. */
export function addedUpMs(
  layerMs: readonly number[],
  overheadMs: number,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  return layerMs.slice(from, to).reduce((sum, ms) => sum + ms, overheadMs);
}
